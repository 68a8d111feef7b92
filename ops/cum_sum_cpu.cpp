#include <algorithm>
#include <utility>

#include "ops/cum_sum.h"
#include "ops/element.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica {
namespace {

template <class T>
void lanes(const ops::CumSum& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const size_t rank = x.type.shape.size(), axis = static_cast<size_t>(op.axis);
  AxisSizes sizes{};
  std::ranges::copy(x.type.shape, sizes.begin());
  const int64_t size = std::exchange(sizes[axis], 1);
  const std::array strides{strides_in(x.type, rank), strides_in(y.type, rank)};
  if (size == 0) return;
  for_each_index<2>(std::span(sizes).first(rank), strides, [&](const auto& at, const AxisSizes&) {
    Wide<T> sum = 0;
    for (int64_t n = 0; n < size; ++n) {
      const int64_t i = op.reverse ? size - 1 - n : n;
      const Wide<T> value = read<T>(x, at[0] + i * strides[0][axis]);
      write<T>(y, at[1] + i * strides[1][axis], op.exclusive ? sum : add(sum, value));
      sum = add(sum, value);
    }
  });
}

void ref(const ops::CumSum& op, const KernelArgs& args) {
  visit_dtype(args.in[0].type.dtype, [&](auto tag) { lanes<typename decltype(tag)::type>(op, args); });
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .run = As<ops::CumSum>::fn<ref>},
};

}  // namespace

constinit const Kernels cum_sum_cpu_kernels = kKernels;

}  // namespace plica
