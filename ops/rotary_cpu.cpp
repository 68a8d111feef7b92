#include "ops/element.h"
#include "ops/op.h"
#include "ops/rotary.h"
#include "ops/strided.h"

namespace plica {
namespace {

template <class T>
void rows(const ops::Rotary& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];  // (..., L, D)
  const size_t rank = x.type.shape.size(), last = rank - 1;
  const int64_t width = x.type.shape[last], half = width / 2;
  const std::array strides{strides_in(x.type, rank), strides_in(args.in[1].type, rank),
                           strides_in(args.in[2].type, rank), strides_in(y.type, rank)};
  for_each_index<4>(std::span(x.type.shape).first(last), strides, [&](const auto& at, const AxisSizes&) {
    for (int64_t d = 0; d < width; ++d) {
      const bool first = op.interleaved ? d % 2 == 0 : d < half;
      const int64_t distance = op.interleaved ? 1 : half, partner = first ? d + distance : d - distance;
      const double rotated = (first ? -1 : 1) * read<T>(x, at[0] + partner * strides[0][last]);
      const double cosine = read<T>(args.in[1], at[1] + d * strides[1][last]);
      const double sine = read<T>(args.in[2], at[2] + d * strides[2][last]);
      write<T>(y, at[3] + d * strides[3][last], read<T>(x, at[0] + d * strides[0][last]) * cosine + rotated * sine);
    }
  });
}

void ref(const ops::Rotary& op, const KernelArgs& args) {
  visit_float(args.in[0].type.dtype, [&](auto tag) { rows<typename decltype(tag)::type>(op, args); });
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .run = As<ops::Rotary>::fn<ref>},
};

}  // namespace

constinit const Kernels rotary_cpu_kernels = kKernels;

}  // namespace plica
