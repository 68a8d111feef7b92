#include <algorithm>
#include <utility>

#include "ops/arg_reduce.h"
#include "ops/element.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica {
namespace {

template <class T>
void lanes(const ops::ArgReduce& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const size_t rank = x.type.shape.size(), axis = static_cast<size_t>(op.axis);
  AxisSizes sizes{};
  std::ranges::copy(x.type.shape, sizes.begin());
  const int64_t size = std::exchange(sizes[axis], 1);
  std::array strides{strides_in(x.type, rank), strides_in(y.type, rank)};
  if (!op.keepdims) {
    const AxisStrides own = strides_in(y.type, rank - 1);
    for (size_t i = 0, next = 0; i < rank; ++i) strides[1][i] = i == axis ? 0 : own[next++];
  }
  for_each_index<2>(std::span(sizes).first(rank), strides, [&](const auto& at, const AxisSizes&) {
    int64_t best = 0;
    Wide<T> best_value = read<T>(x, at[0]);
    for (int64_t i = 1; i < size; ++i) {
      const Wide<T> value = read<T>(x, at[0] + i * strides[0][axis]);
      const bool nan = is_nan(value), best_nan = is_nan(best_value);
      const bool equal = nan || best_nan ? nan && best_nan : value == best_value;
      const bool better = nan || best_nan ? nan && !best_nan : op.largest ? value > best_value : value < best_value;
      if (!better && !(equal && op.last)) continue;
      best = i;
      best_value = value;
    }
    write<int64_t>(y, at[1], best);
  });
}

void ref(const ops::ArgReduce& op, const KernelArgs& args) {
  visit_dtype(args.in[0].type.dtype, [&](auto tag) { lanes<typename decltype(tag)::type>(op, args); });
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .run = As<ops::ArgReduce>::fn<ref>},
};

}  // namespace

constinit const Kernels arg_reduce_cpu_kernels = kKernels;

}  // namespace plica
