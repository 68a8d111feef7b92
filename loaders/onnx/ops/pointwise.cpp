#include <cmath>
#include <limits>

#include "loaders/onnx/ops/random.h"
#include "loaders/onnx/ops/tables.h"
#include "runtime/core/dtype.h"

namespace plica::onnx {
namespace {

using ops::Fn;

template <Fn kFn>
Status unary(Lowering& n) {
  return n.give(n.call(kFn, {n.in(0)}));
}

template <Fn kFn>
Status binary(Lowering& n) {
  return n.give(n.call(kFn, {n.in(0), n.in(1)}));
}

// Less or LessOrEqual; a > b as b < a.
template <Fn kFn, bool kSwapped = false>
Status compare(Lowering& n) {
  constexpr size_t kLeft = kSwapped ? 1 : 0, kRight = kSwapped ? 0 : 1;
  if (compares_random(n)) return give_comparison(n, kLeft, kRight, kFn == Fn::kLessOrEqual);
  return n.give(n.call(kFn, {n.in(kLeft), n.in(kRight)}));
}

template <Fn kFn>
Status variadic(Lowering& n) {
  Result<Id> sum = n.in(0);
  for (size_t i = 1; i < n.num_inputs(); ++i) sum = n.call(kFn, {sum, n.in(i)});
  return n.give(sum);
}

Status mean(Lowering& n) {
  Result<Id> sum = n.in(0);
  for (size_t i = 1; i < n.num_inputs(); ++i) sum = n.add(sum, n.in(i));
  if (n.num_inputs() == 1) return n.give(sum);
  return n.give(n.div(sum, n.scalar_like(static_cast<double>(n.num_inputs()), sum)));
}

Status identity(Lowering& n) {
  if (const Ids* elements = n.sequence(0)) return n.give_sequence(0, *elements);
  return n.give(n.in(0));
}

Status dropout(Lowering& n) {
  if (n.has(2)) {
    PLICA_TRY(const auto training, n.known_ints(2));
    PLICA_TRY(const auto ratio, n.known_doubles(1));
    if (training.at(0) != 0 && ratio.at(0) != 0) return unsupported("training mode");
  }
  PLICA_CHECK(n.give(n.in(0)));
  return n.give(1, n.full(1, DType::kBool, n.shape(n.in(0))));
}

Status is_nan(Lowering& n) {
  if (!is_float(n.dtype(n.in(0)))) return n.give(n.full(0, DType::kBool, n.shape(n.in(0))));
  return n.give(n.call(Fn::kIsNaN, {n.in(0)}));
}

Status is_inf(Lowering& n) {
  PLICA_TRY(const bool negative, n.flag("detect_negative", true));
  PLICA_TRY(const bool positive, n.flag("detect_positive", true));
  const Id x = n.in(0);
  if (!negative && !positive) return n.give(n.full(0, DType::kBool, n.shape(x)));
  Result<Id> found = n.call(Fn::kIsInf, {x});
  if (!negative) found = n.call(Fn::kAnd, {found, n.call(Fn::kLess, {n.scalar_like(0, x), x})});
  if (!positive) found = n.call(Fn::kAnd, {found, n.call(Fn::kLess, {x, n.scalar_like(0, x)})});
  return n.give(found);
}

Status where(Lowering& n) { return n.give(n.call(Fn::kWhere, {n.in(0), n.in(1), n.in(2)})); }

Status cast(Lowering& n) {
  if (n.node().find("to") == nullptr) return invalid_model("attribute 'to' is absent, wanted a type of elements");
  PLICA_TRY(const DType to, n.dtype_attr("to", DType::kF32));
  return n.give(n.cast(n.in(0), to));
}

Status cast_like(Lowering& n) { return n.give(n.cast(n.in(0), n.dtype(n.in(1)))); }

// The result has the base's dtype; an integer base with a float exponent is raised in f64.
Status pow(Lowering& n) {
  const Id base = n.in(0), exponent = n.in(1);
  const DType dtype = n.dtype(base);
  if (is_float(dtype) || !is_float(n.dtype(exponent))) return n.give(n.call(Fn::kPow, {base, n.cast(exponent, dtype)}));
  return n.give(n.cast(n.call(Fn::kPow, {n.cast(base, DType::kF64), n.cast(exponent, DType::kF64)}), dtype));
}

Status mod(Lowering& n) {
  PLICA_TRY(const bool fmod, n.flag("fmod", false));
  return n.give(n.call(fmod ? Fn::kFmod : Fn::kMod, {n.in(0), n.in(1)}));
}

Status bit_shift(Lowering& n) {
  PLICA_TRY(const std::string direction, string_attribute(n.node(), "direction", ""));
  if (direction != "LEFT" && direction != "RIGHT")
    return invalid_model("attribute 'direction' is '" + direction + "', wanted LEFT or RIGHT");
  return n.give(n.call(direction == "LEFT" ? Fn::kShiftLeft : Fn::kShiftRight, {n.in(0), n.in(1)}));
}

Status reciprocal(Lowering& n) { return n.give(n.div(n.scalar_like(1, n.in(0)), n.in(0))); }

Status clip_by_attributes(Lowering& n) {
  PLICA_TRY(const double low, n.real("min", -std::numeric_limits<double>::infinity()));
  PLICA_TRY(const double high, n.real("max", std::numeric_limits<double>::infinity()));
  Result<Id> x = n.in(0);
  if (!std::isinf(low)) x = n.call(Fn::kMax, {x, n.scalar_like(low, x)});
  if (!std::isinf(high)) x = n.call(Fn::kMin, {x, n.scalar_like(high, x)});
  return n.give(x);
}

Status clip(Lowering& n) {
  Result<Id> x = n.in(0);
  if (n.has(1)) x = n.call(Fn::kMax, {x, n.reshape(n.in(1), {})});
  if (n.has(2)) x = n.call(Fn::kMin, {x, n.reshape(n.in(2), {})});
  return n.give(x);
}

Status gelu(Lowering& n) {
  PLICA_TRY(const std::string form, string_attribute(n.node(), "approximate", "none"));
  const bool tanh = form.compare("tanh") == 0;
  if (!tanh && form.compare("none") != 0)
    return invalid_model("attribute 'approximate' is '" + form + "', wanted none or tanh");
  return n.give(n.call(tanh ? Fn::kGeluTanh : Fn::kGelu, {n.in(0)}));
}

// x * sigmoid(alpha x)
Status swish(Lowering& n) {
  PLICA_TRY(const double alpha, n.real("alpha", 1));
  const Id x = n.in(0);
  if (alpha == 1) return n.give(n.call(Fn::kSilu, {x}));
  return n.give(n.mul(x, n.call(Fn::kSigmoid, {n.mul(x, n.scalar_like(alpha, x))})));
}

constexpr OpRow kRows[] = {
    {"Abs", 6, 1, unary<Fn::kAbs>},
    {"Acos", 7, 1, unary<Fn::kAcos>},
    {"Acosh", 9, 1, unary<Fn::kAcosh>},
    {"Add", 7, 2, binary<Fn::kAdd>},
    {"And", 7, 2, binary<Fn::kAnd>},
    {"Asin", 7, 1, unary<Fn::kAsin>},
    {"Asinh", 9, 1, unary<Fn::kAsinh>},
    {"Atan", 7, 1, unary<Fn::kAtan>},
    {"Atanh", 9, 1, unary<Fn::kAtanh>},
    {"BitShift", 11, 2, bit_shift},
    {"BitwiseAnd", 18, 2, binary<Fn::kBitAnd>},
    {"BitwiseNot", 18, 1, unary<Fn::kBitNot>},
    {"BitwiseOr", 18, 2, binary<Fn::kBitOr>},
    {"BitwiseXor", 18, 2, binary<Fn::kBitXor>},
    {"Cast", 6, 1, cast},
    {"CastLike", 15, 2, cast_like},
    {"Ceil", 6, 1, unary<Fn::kCeil>},
    {"Clip", 6, 1, clip_by_attributes},
    {"Clip", 11, 1, clip},
    {"Cos", 7, 1, unary<Fn::kCos>},
    {"Cosh", 9, 1, unary<Fn::kCosh>},
    {"Div", 7, 2, binary<Fn::kDiv>},
    {"Dropout", 7, 1, dropout},
    {"Equal", 7, 2, binary<Fn::kEqual>},
    {"Erf", 9, 1, unary<Fn::kErf>},
    {"Exp", 6, 1, unary<Fn::kExp>},
    {"Floor", 6, 1, unary<Fn::kFloor>},
    {"Gelu", 20, 1, gelu},
    {"Greater", 7, 2, compare<Fn::kLess, true>},
    {"GreaterOrEqual", 12, 2, compare<Fn::kLessOrEqual, true>},
    {"Identity", 1, 1, identity},
    {"IsInf", 10, 1, is_inf},
    {"IsNaN", 9, 1, is_nan},
    {"Less", 7, 2, compare<Fn::kLess>},
    {"LessOrEqual", 12, 2, compare<Fn::kLessOrEqual>},
    {"Log", 6, 1, unary<Fn::kLog>},
    {"Max", 6, 1, variadic<Fn::kMax>},
    {"Mean", 6, 1, mean},
    {"Min", 6, 1, variadic<Fn::kMin>},
    {"Mod", 10, 2, mod},
    {"Mul", 7, 2, binary<Fn::kMul>},
    {"Neg", 6, 1, unary<Fn::kNeg>},
    {"Not", 1, 1, unary<Fn::kNot>},
    {"Or", 7, 2, binary<Fn::kOr>},
    {"Pow", 7, 2, pow},
    {"Reciprocal", 6, 1, reciprocal},
    {"Relu", 6, 1, unary<Fn::kRelu>},
    {"Round", 11, 1, unary<Fn::kRound>},
    {"Sigmoid", 6, 1, unary<Fn::kSigmoid>},
    {"Sign", 9, 1, unary<Fn::kSign>},
    {"Sin", 7, 1, unary<Fn::kSin>},
    {"Sinh", 9, 1, unary<Fn::kSinh>},
    {"Softplus", 1, 1, unary<Fn::kSoftplus>},
    {"Sqrt", 6, 1, unary<Fn::kSqrt>},
    {"Sub", 7, 2, binary<Fn::kSub>},
    {"Sum", 6, 1, variadic<Fn::kAdd>},
    {"Swish", 24, 1, swish},
    {"Tan", 7, 1, unary<Fn::kTan>},
    {"Tanh", 6, 1, unary<Fn::kTanh>},
    {"Where", 9, 3, where},
    {"Xor", 7, 2, binary<Fn::kXor>},
};

}  // namespace

std::span<const OpRow> pointwise_rows() { return kRows; }

}  // namespace plica::onnx
