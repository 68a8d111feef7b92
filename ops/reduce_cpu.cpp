#include <algorithm>
#include <limits>

#include "ops/cpu/reduce.h"
#include "ops/cpu/threads.h"
#include "ops/element.h"
#include "ops/leading_axes.h"
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

// The axes of x as a vectorised kernel walks them: those that are kept, of x and y, and the reduced ones, joined to one.
struct Folds {
  LeadingAxes<2> kept;
  LeadingAxes<1> reduced;

  Folds(const ops::Reduce& op, const TensorType& x, const TensorType& y) : kept({}, {}), reduced({}, {}) {
    const AxisStrides of_x = strides_in(x, x.shape.size()), of_y = strides_in(y, y.shape.size());
    AxisSizes sizes{}, folded{};
    std::array<AxisStrides, 2> strides{};
    std::array<AxisStrides, 1> folded_strides{};
    size_t num_kept = 0, num_folded = 0;
    for (size_t i = 0, next = 0; i < x.shape.size(); ++i) {
      const bool is_folded = std::ranges::find(op.axes, static_cast<int64_t>(i)) != op.axes.end();
      if (is_folded) {
        folded[num_folded] = x.shape[i];
        folded_strides[0][num_folded++] = of_x[i];
      } else {
        sizes[num_kept] = x.shape[i];
        strides[0][num_kept] = of_x[i];
        strides[1][num_kept++] = of_y[next];
      }
      next += !is_folded || op.keepdims;
    }
    kept = LeadingAxes<2>(std::span(sizes).first(num_kept), strides);
    reduced = LeadingAxes<1>(std::span(folded).first(num_folded), folded_strides);
  }

  bool folds_rows() const { return reduced.rank == 0 || reduced.strides[0][0] == 1; }
  bool folds_columns() const {
    return kept.rank > 0 && kept.strides[0][kept.rank - 1] == 1 && kept.strides[1][kept.rank - 1] == 1;
  }
};

// One axis of f32 values: adjacent ones, or columns side by side.
const char* axis_declines(const ops::Reduce& op, const Case& c) {
  if (c.in[0].type->dtype != DType::kF32) return "x is not f32";
  const Folds folds(op, *c.in[0].type, *c.out[0].type);
  if (folds.reduced.rank > 1) return "the reduced axes do not lie one behind the other";
  if (!folds.folds_rows() && !folds.folds_columns()) return "neither rows nor columns are adjacent values";
  return nullptr;
}

cpu::Fold fold_of(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kMax: return cpu::Fold::kMax;
    case ReduceKind::kMin: return cpu::Fold::kMin;
    case ReduceKind::kProd: return cpu::Fold::kProd;
    default: return cpu::Fold::kSum;
  }
}

void axis(const ops::Reduce& op, const KernelArgs& args) {
  constexpr int64_t kStrip = 256;  // columns that one piece folds
  const Folds folds(op, args.in[0].type, args.out[0].type);
  const auto* x = static_cast<const float*>(args.in[0].data);
  auto* y = static_cast<float*>(args.out[0].data);
  const cpu::Fold fold = fold_of(op.kind);
  const int64_t size = folds.reduced.count();
  const float divisor = op.kind == ReduceKind::kMean ? static_cast<float>(size) : 1.0f;
  LeadingAxes<2> outer = folds.kept;
  const bool rows = folds.folds_rows();
  const int64_t columns = rows ? 1 : outer.sizes[--outer.rank];
  const int64_t strips = rows ? 1 : (columns + kStrip - 1) / kStrip;
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, size * std::min(columns, kStrip)));
  cpu::parallel_for(outer.count() * strips, grain, args.num_threads, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = outer.at(i / strips);
      const int64_t first = i % strips * kStrip, count = std::min(kStrip, columns - first);
      float* to = y + at[1] + first;
      if (rows)
        *to = cpu::fold_row(fold, x + at[0], size);
      else
        cpu::fold_columns(fold, x + at[0] + first, folds.reduced.strides[0][0], size, to, count);
      if (op.kind != ReduceKind::kMean) continue;
      for (int64_t c = 0; c < count; ++c) to[c] /= divisor;
    }
  });
}

constexpr Kernel kKernels[] = {
    {.name = "axis", .declines = As<ops::Reduce>::fn<axis_declines>, .run = As<ops::Reduce>::fn<axis>},
    {.name = "ref", .run = As<ops::Reduce>::fn<ref>},
};

}  // namespace

constinit const Kernels reduce_cpu_kernels = kKernels;

}  // namespace plica
