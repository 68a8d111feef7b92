#include <algorithm>

#include "loaders/onnx/ops/tables.h"
#include "loaders/onnx/ops/window.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

using ops::Fn;
using ops::ReduceKind;

// A scale or zero point as it broadcasts to x: one number, one an index of `axis`, or one a block along it.
Result<Id> spread(Lowering& n, Id x, Id parameter) {
  if (parameter == kNone) return kNone;
  const Shape shape = n.shape(x);
  Shape own = n.shape(parameter);
  if (num_elements(own) == 1) return n.reshape(parameter, {});
  PLICA_TRY(const int64_t axis, n.axis("axis", 1, n.rank(x)));
  PLICA_TRY(const int64_t block, n.attr("block_size", 0));
  const auto at = static_cast<size_t>(axis);
  if (block == 0 && own.size() == 1) {
    Shape along(shape.size(), 1);
    along[at] = own[0];
    return n.reshape(parameter, std::move(along));
  }
  if (own.size() != shape.size() || block < 1)
    return invalid_model("the scale is " + to_string(own) + ", the input " + to_string(shape) +
                         ", wanted one an index of axis " + std::to_string(axis) + " or one a block");
  Shape split = own, repeated = own;
  split.insert(split.begin() + axis + 1, 1);
  repeated.insert(repeated.begin() + axis + 1, block);
  own[at] *= block;
  return n.slice(n.reshape(n.expand(n.reshape(parameter, std::move(split)), std::move(repeated)), own), axis, 0,
                 shape[at]);
}

// round(x) + zero_point, saturated to an integer type of at most 16 bits. x is f32.
Result<Id> rounded(Lowering& n, Result<Id> x, Result<Id> zero_point, DType to) {
  if (!is_integer(to) || size_of(to) > 2)
    return unsupported("a quantised type of " + std::string(name_of(to)) + ", wanted an integer of 8 or 16 bits");
  Result<Id> y = n.call(Fn::kRound, {std::move(x)});
  if (!zero_point) return zero_point;
  if (*zero_point != kNone) y = n.add(y, n.cast(zero_point, DType::kF32));
  const double values = static_cast<double>(int64_t{1} << (8 * size_of(to)));
  const double low = is_unsigned(to) ? 0 : -values / 2;
  y = n.call(Fn::kMin, {n.call(Fn::kMax, {y, n.scalar(low, DType::kF32)}), n.scalar(low + values - 1, DType::kF32)});
  return n.cast(y, to);
}

Status quantize_linear(Lowering& n) {
  const Id x = n.in(0);
  DType to = n.has(2) ? n.dtype(n.in(2)) : DType::kU8;
  PLICA_TRY(const int64_t wanted, n.attr("output_dtype", 0));
  if (wanted != 0) {
    PLICA_TRY(to, n.dtype_attr("output_dtype", to));
  }
  const Result<Id> scaled = n.div(n.cast(x, DType::kF32), n.cast(spread(n, x, n.in(1)), DType::kF32));
  return n.give(rounded(n, scaled, spread(n, x, n.in(2)), to));
}

Status dequantize_linear(Lowering& n) {
  const Id x = n.in(0);
  DType to = n.dtype(n.in(1));
  PLICA_TRY(const int64_t wanted, n.attr("output_dtype", 0));
  if (wanted != 0) {
    PLICA_TRY(to, n.dtype_attr("output_dtype", to));
  }
  Result<Id> y = n.cast(x, DType::kI32);
  if (n.has(2)) y = n.sub(y, n.cast(spread(n, x, n.in(2)), DType::kI32));
  return n.give(n.cast(n.mul(n.cast(y, DType::kF32), n.cast(spread(n, x, n.in(1)), DType::kF32)), to));
}

// The range of x, zero included, on the 256 values of u8.
Status dynamic_quantize_linear(Lowering& n) {
  const Id x = n.in(0);
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < n.rank(x); ++axis) axes.push_back(axis);
  const auto number = [&](double value) { return n.scalar(value, DType::kF32); };
  PLICA_TRY(const Id high, n.call(Fn::kMax, {n.reduce(ReduceKind::kMax, x, axes, false), number(0)}));
  PLICA_TRY(const Id low, n.call(Fn::kMin, {n.reduce(ReduceKind::kMin, x, axes, false), number(0)}));
  PLICA_TRY(const Id scale, n.div(n.sub(high, low), number(255)));
  const Result<Id> offset = n.div(n.sub(number(0), low), scale);
  PLICA_TRY(const Id zero_point,
            rounded(n, n.call(Fn::kMin, {n.call(Fn::kMax, {offset, number(0)}), number(255)}), kNone, DType::kU8));
  PLICA_CHECK(n.give(0, rounded(n, n.div(x, scale), zero_point, DType::kU8)));
  PLICA_CHECK(n.give(1, scale));
  return n.give(2, zero_point);
}

// x - zero_point in i32; a vector of zero points has one a row.
Result<Id> centred(Lowering& n, Id x, Id zero_point, bool by_row) {
  Result<Id> y = n.cast(x, DType::kI32);
  if (zero_point == kNone) return y;
  Result<Id> offset = n.cast(zero_point, DType::kI32);
  const Shape shape = n.shape(zero_point);
  if (num_elements(shape) == 1)
    offset = n.reshape(offset, {});
  else if (by_row && shape.size() == 1)
    offset = n.reshape(offset, {shape[0], 1});
  return n.sub(y, offset);
}

Result<Id> integer_product(Lowering& n, Id a, Id a_zero, Id b, Id b_zero) {
  if (n.rank(a) < 2 || n.rank(b) < 2)
    return unsupported("operands " + to_string(n.shape(a)) + " and " + to_string(n.shape(b)) + ", wanted matrices");
  return n.mat_mul(centred(n, a, a_zero, true), centred(n, b, b_zero, false));
}

Status mat_mul_integer(Lowering& n) { return n.give(integer_product(n, n.in(0), n.in(2), n.in(1), n.in(3))); }

// A scale as f32: one number, or one a row (a column vector).
Result<Id> scale_of(Lowering& n, Id scale, bool by_row) {
  const Shape shape = n.shape(scale);
  if (num_elements(shape) == 1) return n.cast(n.reshape(scale, {}), DType::kF32);
  if (by_row && shape.size() == 1) return n.cast(n.reshape(scale, {shape[0], 1}), DType::kF32);
  return n.cast(scale, DType::kF32);
}

Status q_linear_mat_mul(Lowering& n) {
  const Result<Id> product = integer_product(n, n.in(0), n.in(2), n.in(3), n.in(5));
  const Result<Id> scale = n.mul(scale_of(n, n.in(1), true), scale_of(n, n.in(4), false));
  const Result<Id> y = n.div(n.mul(n.cast(product, DType::kF32), scale), scale_of(n, n.in(6), true));
  Result<Id> zero_point = n.in(7);
  if (num_elements(n.shape(n.in(7))) == 1) zero_point = n.reshape(zero_point, {});
  return n.give(rounded(n, y, zero_point, n.dtype(n.in(7))));
}

// A vector of one number a filter as it broadcasts to `rank` axes with the filters at `axis`.
Result<Id> per_filter(Lowering& n, Id parameter, int64_t rank, size_t axis) {
  if (num_elements(n.shape(parameter)) == 1) return n.reshape(parameter, {});
  Shape shape(static_cast<size_t>(rank), 1);
  shape[axis] = num_elements(n.shape(parameter));
  return n.reshape(parameter, std::move(shape));
}

Result<Id> integer_convolution(Lowering& n, Id x_zero, Id w, Id w_zero) {
  const Id x = n.in(0);
  const Shape shape = n.shape(w);
  if (shape.size() < 3) return invalid_model("the weight is " + to_string(shape) + ", wanted three axes or more");
  PLICA_TRY(const Window window, window_of(n, x, {shape.begin() + 2, shape.end()}));
  PLICA_TRY(const int64_t groups, n.attr("group", 1));
  PLICA_TRY(const Id left, centred(n, x, x_zero, false));
  Result<Id> right = n.cast(w, DType::kI32);
  if (w_zero != kNone) right = n.sub(right, n.cast(per_filter(n, w_zero, n.rank(w), 0), DType::kI32));
  PLICA_TRY(const Id weight, right);
  return convolve(n, left, weight, window, groups);
}

Status conv_integer(Lowering& n) { return n.give(integer_convolution(n, n.in(2), n.in(1), n.in(3))); }

Status q_linear_conv(Lowering& n) {
  const int64_t rank = n.rank(n.in(0));
  Result<Id> sum = integer_convolution(n, n.in(2), n.in(3), n.in(5));
  if (n.has(8)) sum = n.add(sum, per_filter(n, n.in(8), rank, 1));
  const Result<Id> scale = n.mul(scale_of(n, n.in(1), false), n.cast(per_filter(n, n.in(4), rank, 1), DType::kF32));
  const Result<Id> y = n.div(n.mul(n.cast(sum, DType::kF32), scale), scale_of(n, n.in(6), false));
  return n.give(rounded(n, y, n.reshape(n.in(7), {}), n.dtype(n.in(7))));
}

constexpr OpRow kRows[] = {
    {"ConvInteger", 10, 2, conv_integer},
    {"DequantizeLinear", 10, 2, dequantize_linear},
    {"DynamicQuantizeLinear", 11, 1, dynamic_quantize_linear},
    {"MatMulInteger", 10, 2, mat_mul_integer},
    {"QLinearConv", 10, 8, q_linear_conv},
    {"QLinearMatMul", 10, 8, q_linear_mat_mul},
    {"QuantizeLinear", 10, 2, quantize_linear},
};

}  // namespace

std::span<const OpRow> quantize_rows() { return kRows; }

}  // namespace plica::onnx
