#include "ops/element.h"
#include "ops/op.h"
#include "ops/strided.h"
#include "ops/trilu.h"

namespace plica {
namespace {

template <class T>
void elements(const ops::Trilu& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const size_t rank = x.type.shape.size();
  const auto* from = static_cast<const T*>(x.data);
  auto* to = static_cast<T*>(y.data);
  for_each_index<2>(x.type.shape, {strides_in(x.type, rank), strides_in(y.type, rank)},
                    [&](const auto& at, const AxisSizes& index) {
                      const int64_t diagonal = index[rank - 1] - index[rank - 2];
                      const bool kept = op.upper ? diagonal >= op.k : diagonal <= op.k;
                      to[at[1]] = kept ? from[at[0]] : T{};
                    });
}

void ref(const ops::Trilu& op, const KernelArgs& args) {
  visit_size(args.in[0].type.dtype, [&](auto tag) { elements<typename decltype(tag)::type>(op, args); });
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .run = As<ops::Trilu>::fn<ref>},
};

}  // namespace

constinit const Kernels trilu_cpu_kernels = kKernels;

}  // namespace plica
