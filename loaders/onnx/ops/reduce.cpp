#include "ops/reduce.h"

#include <numeric>

#include "loaders/onnx/ops/tables.h"
#include "ops/arg_reduce.h"
#include "ops/cum_sum.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

using ops::Fn;
using ops::ReduceKind;

struct Span {
  std::vector<int64_t> axes;
  bool keepdims;
};

// The axes from attribute or operand; none named is all of them, or no reduction where the node says so.
Result<Span> span_of(Lowering& n) {
  Span span;
  PLICA_TRY(span.keepdims, n.flag("keepdims", true));
  PLICA_TRY(const bool noop, n.flag("noop_with_empty_axes", false));
  PLICA_TRY(span.axes, n.axes_of(1, n.rank(n.in(0))));
  if (span.axes.empty() && !noop) {
    span.axes.resize(static_cast<size_t>(n.rank(n.in(0))));
    std::iota(span.axes.begin(), span.axes.end(), 0);
  }
  return span;
}

template <ReduceKind kKind>
Status plain(Lowering& n) {
  PLICA_TRY(Span span, span_of(n));
  return n.give(n.reduce(kKind, n.in(0), std::move(span.axes), span.keepdims));
}

Status sum_of_magnitudes(Lowering& n) {
  PLICA_TRY(Span span, span_of(n));
  return n.give(n.reduce(ReduceKind::kSum, n.call(Fn::kAbs, {n.in(0)}), std::move(span.axes), span.keepdims));
}

Status sum_of_squares(Lowering& n) {
  PLICA_TRY(Span span, span_of(n));
  return n.give(n.reduce(ReduceKind::kSum, n.mul(n.in(0), n.in(0)), std::move(span.axes), span.keepdims));
}

Status root_of_squares(Lowering& n) {
  PLICA_TRY(Span span, span_of(n));
  const Result<Id> sum = n.reduce(ReduceKind::kSum, n.mul(n.in(0), n.in(0)), std::move(span.axes), span.keepdims);
  return n.give(n.call(Fn::kSqrt, {sum}));
}

Status log_of_sum(Lowering& n) {
  PLICA_TRY(Span span, span_of(n));
  return n.give(n.call(Fn::kLog, {n.reduce(ReduceKind::kSum, n.in(0), std::move(span.axes), span.keepdims)}));
}

// log(sum(exp(x - max))) + max, the maximum only where it is finite.
Status log_of_exponentials(Lowering& n) {
  PLICA_TRY(const Span span, span_of(n));
  const Id x = n.in(0);
  PLICA_TRY(const Id top, n.reduce(ReduceKind::kMax, x, span.axes, true));
  PLICA_TRY(const Id shift, n.call(Fn::kWhere, {n.call(Fn::kIsInf, {top}), n.scalar_like(0, x), top}));
  PLICA_TRY(const Id sum, n.reduce(ReduceKind::kSum, n.call(Fn::kExp, {n.sub(x, shift)}), span.axes, true));
  PLICA_TRY(const Id result, n.add(n.call(Fn::kLog, {sum}), shift));
  if (span.keepdims) return n.give(result);
  Shape shape;
  for (int64_t i = 0; i < n.rank(x); ++i)
    if (std::find(span.axes.begin(), span.axes.end(), i) == span.axes.end()) shape.push_back(n.size(x, i));
  return n.give(n.reshape(result, std::move(shape)));
}

template <bool kLargest>
Status arg_reduce(Lowering& n) {
  ops::ArgReduce arg{.largest = kLargest};
  PLICA_TRY(arg.axis, n.axis("axis", 0, n.rank(n.in(0))));
  PLICA_TRY(arg.keepdims, n.flag("keepdims", true));
  PLICA_TRY(arg.last, n.flag("select_last_index", false));
  return n.give(n.emit_one(arg_reduce_op, arg, {n.in(0)}));
}

Status cum_sum(Lowering& n) {
  ops::CumSum sum;
  PLICA_TRY(const auto axis, n.known_ints(1));
  if (axis.size() != 1) return invalid_model("the axis has " + std::to_string(axis.size()) + " elements, wanted 1");
  PLICA_TRY(sum.axis, normalise_axis(axis.front(), n.rank(n.in(0))));
  PLICA_TRY(sum.exclusive, n.flag("exclusive", false));
  PLICA_TRY(sum.reverse, n.flag("reverse", false));
  return n.give(n.emit_one(cum_sum_op, sum, {n.in(0)}));
}

constexpr OpRow kRows[] = {
    {"ArgMax", 1, 1, arg_reduce<true>},
    {"ArgMin", 1, 1, arg_reduce<false>},
    {"CumSum", 11, 2, cum_sum},
    {"ReduceL1", 1, 1, sum_of_magnitudes},
    {"ReduceL2", 1, 1, root_of_squares},
    {"ReduceLogSum", 1, 1, log_of_sum},
    {"ReduceLogSumExp", 1, 1, log_of_exponentials},
    {"ReduceMax", 1, 1, plain<ReduceKind::kMax>},
    {"ReduceMean", 1, 1, plain<ReduceKind::kMean>},
    {"ReduceMin", 1, 1, plain<ReduceKind::kMin>},
    {"ReduceProd", 1, 1, plain<ReduceKind::kProd>},
    {"ReduceSum", 1, 1, plain<ReduceKind::kSum>},
    {"ReduceSumSquare", 1, 1, sum_of_squares},
};

}  // namespace

std::span<const OpRow> reduce_rows() { return kRows; }

}  // namespace plica::onnx
