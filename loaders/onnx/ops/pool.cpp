#include <cmath>
#include <limits>
#include <numeric>

#include "loaders/onnx/ops/tables.h"
#include "loaders/onnx/ops/window.h"
#include "ops/pad.h"
#include "ops/scatter_elements.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

using ops::Fn;
using ops::ReduceKind;

Result<Window> pool_window(Lowering& n) {
  PLICA_TRY(std::vector<int64_t> kernel, ints_attribute(n.node(), "kernel_shape"));
  return window_of(n, n.in(0), std::move(kernel));
}

Result<Id> lowest(Lowering& n, DType dtype) {
  if (is_float(dtype)) return n.scalar(-std::numeric_limits<double>::infinity(), dtype);
  if (is_unsigned(dtype)) return n.scalar(0, dtype);
  return n.scalar(-std::ldexp(1.0, static_cast<int>(size_of(dtype)) * 8 - 1), dtype);
}

// For each element of x its place in the file's order: row-major, or with the last two axes swapped.
Result<Id> places(Lowering& n, const Shape& shape, bool column_major) {
  PLICA_TRY(Tensor numbers, Tensor::zeros(DType::kI64, shape));
  Strides steps = dense_strides(shape);
  if (column_major && shape.size() >= 4) {
    int64_t step = 1;
    for (size_t axis = 2; axis < shape.size(); ++axis) {
      steps[axis] = step;
      step *= shape[axis];
    }
  }
  const Strides dense = dense_strides(shape);
  for (int64_t i = 0; i < num_elements(shape); ++i) {
    int64_t place = 0;
    for (size_t axis = 0; axis < shape.size(); ++axis) place += i / dense[axis] % shape[axis] * steps[axis];
    numbers.as<int64_t>()[i] = place;
  }
  return n.constant(std::move(numbers));
}

Status max_pool(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const Window window, pool_window(n));
  PLICA_TRY(const Id wide, padded(n, x, window, lowest(n, n.dtype(x))));
  PLICA_TRY(const Ids seen, taps(n, wide, window));
  Id best = seen.front();
  if (!n.wants(1)) {
    for (size_t i = 1; i < seen.size(); ++i) {
      PLICA_TRY(best, n.call(Fn::kMax, {best, seen[i]}));
    }
    return n.give(best);
  }
  PLICA_TRY(const int64_t order, n.attr("storage_order", 0));
  PLICA_TRY(const Id numbers, places(n, n.shape(x), order == 1));
  PLICA_TRY(const Id wide_numbers, padded(n, numbers, window, n.scalar(-1, DType::kI64)));
  PLICA_TRY(const Ids numbers_seen, taps(n, wide_numbers, window));
  Id place = numbers_seen.front();
  for (size_t i = 1; i < seen.size(); ++i) {
    PLICA_TRY(const Id larger, n.call(Fn::kLess, {best, seen[i]}));
    PLICA_TRY(place, n.call(Fn::kWhere, {larger, numbers_seen[i], place}));
    PLICA_TRY(best, n.call(Fn::kMax, {best, seen[i]}));
  }
  PLICA_CHECK(n.give(0, best));
  return n.give(1, place);
}

Result<Id> sum_of(Lowering& n, const Ids& terms) {
  Result<Id> sum = terms.front();
  for (size_t i = 1; i < terms.size(); ++i) sum = n.add(sum, terms[i]);
  return sum;
}

// How many taps of each application count along one spatial axis.
std::vector<double> counts(const Window& window, size_t axis, int64_t size, bool with_padding) {
  const int64_t begin = with_padding ? -window.before[axis] : 0;
  const int64_t end = with_padding ? size + window.after[axis] : size;
  std::vector<double> found;
  for (int64_t out = 0; out < window.out[axis]; ++out) {
    int64_t count = 0;
    for (int64_t k = 0; k < window.kernel[axis]; ++k) {
      const int64_t at = out * window.strides[axis] - window.before[axis] + k * window.dilations[axis];
      count += at >= begin && at < end;
    }
    found.push_back(static_cast<double>(count));
  }
  return found;
}

Status average_pool(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const Window window, pool_window(n));
  PLICA_TRY(const bool with_padding, n.flag("count_include_pad", false));
  PLICA_TRY(const Id wide, padded(n, x, window, n.scalar_like(0, x)));
  PLICA_TRY(const Ids seen, taps(n, wide, window));
  Result<Id> count = n.scalar_like(1, x);
  for (size_t axis = 0; axis < window.kernel.size(); ++axis) {
    const auto numbers = counts(window, axis, n.size(x, static_cast<int64_t>(axis) + 2), with_padding);
    PLICA_TRY(Tensor vector, Tensor::zeros(DType::kF64, {static_cast<int64_t>(numbers.size())}));
    std::copy(numbers.begin(), numbers.end(), vector.as<double>());
    Shape along(window.kernel.size(), 1);
    along[axis] = static_cast<int64_t>(numbers.size());
    count = n.mul(count, n.cast(n.reshape(n.constant(std::move(vector)), std::move(along)), n.dtype(x)));
  }
  return n.give(n.div(sum_of(n, seen), count));
}

// The p-norm of a value that is known to be not negative, from its sum of powers.
Result<Id> power(Lowering& n, Result<Id> x, double exponent) {
  if (!x || exponent == 1) return x;
  return n.call(Fn::kPow, {x, n.scalar_like(exponent, x)});
}

Status lp_pool(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const Window window, pool_window(n));
  PLICA_TRY(const double p, n.attr("p", 2));
  PLICA_TRY(const Id powers, power(n, n.call(Fn::kAbs, {x}), p));
  PLICA_TRY(const Id wide, padded(n, powers, window, n.scalar_like(0, x)));
  PLICA_TRY(const Ids seen, taps(n, wide, window));
  return n.give(power(n, sum_of(n, seen), 1 / p));
}

std::vector<int64_t> spatial_axes(Lowering& n) {
  std::vector<int64_t> axes;
  for (int64_t axis = 2; axis < n.rank(n.in(0)); ++axis) axes.push_back(axis);
  return axes;
}

template <ReduceKind kKind>
Status global_pool(Lowering& n) {
  return n.give(n.reduce(kKind, n.in(0), spatial_axes(n), true));
}

Status global_lp_pool(Lowering& n) {
  PLICA_TRY(const double p, n.attr("p", 2));
  return n.give(
      power(n, n.reduce(ReduceKind::kSum, power(n, n.call(Fn::kAbs, {n.in(0)}), p), spatial_axes(n), true), 1 / p));
}

// Each element put back where MaxPool found it, zeros elsewhere; a wanted shape that is larger holds it in its corner.
Status max_unpool(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const Window window, pool_window(n));
  Shape pooled = n.shape(x);
  ops::Pad pad{std::vector<int64_t>(pooled.size(), 0), std::vector<int64_t>(pooled.size(), 0)};
  for (size_t i = 0; i < window.kernel.size(); ++i)
    pooled[i + 2] = (pooled[i + 2] - 1) * window.strides[i] + window.kernel[i] - window.before[i] - window.after[i];
  if (n.has(2)) {
    PLICA_TRY(const Shape wanted, n.known_ints(2));
    if (wanted.size() != pooled.size()) return invalid_model("the wanted shape has another rank than the input");
    for (size_t i = 0; i < wanted.size(); ++i) pad.after[i] = wanted[i] - pooled[i];
  }
  const int64_t count = num_elements(n.shape(x));
  const Result<Id> zeros = n.full(0, n.dtype(x), {num_elements(pooled)});
  const Result<Id> flat = n.emit_one(scatter_elements_op, ops::ScatterElements{},
                                     {zeros, n.reshape(n.in(1), {count}), n.reshape(x, {count})});
  const Result<Id> y = n.reshape(flat, pooled);
  if (!n.has(2)) return n.give(y);
  return n.give(n.emit_one(pad_op, std::move(pad), {y, kNone}));
}

constexpr OpRow kRows[] = {
    {"AveragePool", 7, 1, average_pool},
    {"GlobalAveragePool", 1, 1, global_pool<ReduceKind::kMean>},
    {"GlobalLpPool", 2, 1, global_lp_pool},
    {"GlobalMaxPool", 1, 1, global_pool<ReduceKind::kMax>},
    {"LpPool", 2, 1, lp_pool},
    {"MaxPool", 1, 1, max_pool},
    {"MaxUnpool", 9, 2, max_unpool},
};

}  // namespace

std::span<const OpRow> pool_rows() { return kRows; }

}  // namespace plica::onnx
