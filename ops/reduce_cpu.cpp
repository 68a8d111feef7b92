#include <algorithm>
#include <limits>

#include "ops/element.h"
#include "ops/op.h"
#include "ops/reduce.h"
#include "ops/strided.h"

namespace plica {
namespace {

using ops::ReduceKind;

// What an empty range gives.
template <class T>
Wide<T> start(ReduceKind kind) {
  using Limits = std::numeric_limits<std::conditional_t<std::is_integral_v<T>, T, double>>;
  const bool bounded = !Limits::has_infinity;
  switch (kind) {
    case ReduceKind::kProd: return 1;
    case ReduceKind::kMax: return bounded ? widen(Limits::lowest()) : -Limits::infinity();
    case ReduceKind::kMin: return bounded ? widen(Limits::max()) : Limits::infinity();
    default: return 0;
  }
}

// NaN wins over any number.
template <class W>
W combine(ReduceKind kind, W total, W value) {
  switch (kind) {
    case ReduceKind::kProd: return multiply(total, value);
    case ReduceKind::kMax: return total > value || is_nan(total) ? total : value;
    case ReduceKind::kMin: return total < value || is_nan(total) ? total : value;
    default: return add(total, value);
  }
}

template <class T>
void elements(const ops::Reduce& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const size_t rank = x.type.shape.size();
  AxisSizes kept{}, reduced{};
  const AxisStrides of_x = strides_in(x.type, rank), of_y = strides_in(y.type, y.type.shape.size());
  AxisStrides y_strides{};
  for (size_t i = 0, next = 0; i < rank; ++i) {
    const bool is_reduced = std::ranges::find(op.axes, static_cast<int64_t>(i)) != op.axes.end();
    kept[i] = is_reduced ? 1 : x.type.shape[i];
    reduced[i] = is_reduced ? x.type.shape[i] : 1;
    if (!is_reduced) y_strides[i] = of_y[next];
    next += !is_reduced || op.keepdims;
  }
  for_each_index<2>(std::span(kept).first(rank), {of_x, y_strides}, [&](const auto& at, const AxisSizes&) {
    Wide<T> total = start<T>(op.kind), count = 0;
    for_each_index<1>(std::span(reduced).first(rank), {of_x}, [&](const auto& inner, const AxisSizes&) {
      total = combine(op.kind, total, read<T>(x, at[0] + inner[0]));
      count += 1;
    });
    if (op.kind == ReduceKind::kMean && (is_float(x.type.dtype) || count != 0)) total /= count;
    write<T>(y, at[1], total);
  });
}

void ref(const ops::Reduce& op, const KernelArgs& args) {
  visit_dtype(args.in[0].type.dtype, [&](auto tag) { elements<typename decltype(tag)::type>(op, args); });
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .run = As<ops::Reduce>::fn<ref>},
};

}  // namespace

constinit const Kernels reduce_cpu_kernels = kKernels;

}  // namespace plica
