#include "ops/scalar.h"

#include <cmath>
#include <limits>

#include "ops/element.h"

// Into the loops of apply(), where the function is known.
#define PLICA_INLINE [[gnu::always_inline]] inline

namespace plica {
namespace {

using ops::Fn;

// The float nearest to x: f16 and bf16 are rounded from f32.
double round_to(DType dtype, double x) {
  switch (dtype) {
    case DType::kF64: return x;
    case DType::kF16: return to_float(to_f16(static_cast<float>(x)));
    case DType::kBF16: return to_float(to_bf16(static_cast<float>(x)));
    default: return static_cast<float>(x);
  }
}

// The low bits of x as an integer of that type.
int64_t wrap_to(DType dtype, int64_t x) {
  switch (dtype) {
    case DType::kBool: return x & 1;
    case DType::kI8: return static_cast<int8_t>(x);
    case DType::kI16: return static_cast<int16_t>(x);
    case DType::kI32: return static_cast<int32_t>(x);
    case DType::kU8: return static_cast<uint8_t>(x);
    case DType::kU16: return static_cast<uint16_t>(x);
    case DType::kU32: return static_cast<uint32_t>(x);
    default: return x;
  }
}

// Truncated; NaN is 0, what is out of range the nearest value of 64 bits.
int64_t truncate(double x, bool is_unsigned) {
  if (std::isnan(x)) return 0;
  if (is_unsigned && x >= 0x1p63) {
    constexpr auto kMax = std::numeric_limits<uint64_t>::max();
    return static_cast<int64_t>(x >= 0x1p64 ? kMax : static_cast<uint64_t>(x));
  }
  if (x >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (x < -0x1p63) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(x);
}

// With the sign of the divisor.
double floor_mod(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double min_of(double a, double b) { return a < b || std::isnan(a) ? a : b; }
double max_of(double a, double b) { return a > b || std::isnan(a) ? a : b; }
double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x))); }

PLICA_INLINE double float_fn(Fn fn, double a, double b) {
  switch (fn) {
    case Fn::kAbs: return std::fabs(a);
    case Fn::kAcos: return std::acos(a);
    case Fn::kAcosh: return std::acosh(a);
    case Fn::kAdd: return a + b;
    case Fn::kAsin: return std::asin(a);
    case Fn::kAsinh: return std::asinh(a);
    case Fn::kAtan: return std::atan(a);
    case Fn::kAtanh: return std::atanh(a);
    case Fn::kCeil: return std::ceil(a);
    case Fn::kCos: return std::cos(a);
    case Fn::kCosh: return std::cosh(a);
    case Fn::kDiv: return a / b;
    case Fn::kErf: return std::erf(a);
    case Fn::kExp: return std::exp(a);
    case Fn::kFloor: return std::floor(a);
    case Fn::kFmod: return std::fmod(a, b);
    case Fn::kGelu: return 0.5 * a * (1 + std::erf(a * M_SQRT1_2));
    case Fn::kGeluTanh: return gelu_tanh(a);
    case Fn::kLog: return std::log(a);
    case Fn::kMax: return max_of(a, b);
    case Fn::kMin: return min_of(a, b);
    case Fn::kMod: return floor_mod(a, b);
    case Fn::kMul: return a * b;
    case Fn::kNeg: return -a;
    case Fn::kPow: return std::pow(a, b);
    case Fn::kRelu: return a < 0 ? 0 : a;
    case Fn::kRound: return std::nearbyint(a);
    case Fn::kSigmoid: return sigmoid(a);
    case Fn::kSign: return sign_of(a);
    case Fn::kSilu: return a * sigmoid(a);
    case Fn::kSin: return std::sin(a);
    case Fn::kSinh: return std::sinh(a);
    case Fn::kSoftplus: return std::fmax(a, 0) + std::log1p(std::exp(-std::fabs(a)));
    case Fn::kSqrt: return std::sqrt(a);
    case Fn::kSub: return a - b;
    case Fn::kTan: return std::tan(a);
    case Fn::kTanh: return std::tanh(a);
    default: return a;
  }
}

// a to an integer power, wrapping; what a fraction would be is 0.
uint64_t integer_power(uint64_t a, int64_t b, bool is_signed) {
  const bool minus_one = is_signed && a == static_cast<uint64_t>(-1);
  if (b < 0) return a == 1 || (minus_one && b % 2 == 0) ? 1 : minus_one ? a : 0;
  uint64_t power = 1;
  for (auto left = static_cast<uint64_t>(b); left != 0; left >>= 1, a *= a)
    if (left & 1) power *= a;
  return power;
}

int64_t shift(Fn fn, int64_t a, int64_t b, const FnTypes& types) {
  const auto bits = static_cast<int64_t>(8 * size_of(types.in));
  const bool over = b < 0 || b >= bits;
  if (fn == Fn::kShiftLeft) return over ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
  if (is_unsigned(types.in)) return over ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) >> b);
  return a >> (over ? 63 : b);
}

// x / y, x % y where they are defined for any operands; W is int64_t or uint64_t.
template <class W>
W quotient(W x, W y) {
  if (y == 0) return 0;
  if (std::is_signed_v<W> && y == static_cast<W>(-1)) return static_cast<W>(0 - static_cast<uint64_t>(x));
  return x / y;
}
template <class W>
W remainder(Fn fn, W x, W y) {
  if (y == 0 || (std::is_signed_v<W> && y == static_cast<W>(-1))) return 0;
  const W rest = x % y;
  return fn == Fn::kMod && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

template <class W>
PLICA_INLINE W integer_fn(Fn fn, const FnTypes& types, W a, W b) {
  switch (fn) {
    case Fn::kAbs: return a < 0 ? static_cast<W>(0 - static_cast<uint64_t>(a)) : a;
    case Fn::kAdd: return add(a, b);
    case Fn::kSub: return static_cast<W>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
    case Fn::kMul: return multiply(a, b);
    case Fn::kNeg: return static_cast<W>(0 - static_cast<uint64_t>(a));
    case Fn::kDiv: return quotient(a, b);
    case Fn::kMod:
    case Fn::kFmod: return remainder(fn, a, b);
    case Fn::kMin: return a < b ? a : b;
    case Fn::kMax: return a > b ? a : b;
    case Fn::kRelu: return a < 0 ? 0 : a;
    case Fn::kSign: return static_cast<W>((a > 0) - (a < 0));
    case Fn::kBitAnd: return a & b;
    case Fn::kBitOr: return a | b;
    case Fn::kBitXor: return a ^ b;
    case Fn::kBitNot: return static_cast<W>(~a);
    case Fn::kShiftLeft:
    case Fn::kShiftRight: return static_cast<W>(shift(fn, static_cast<int64_t>(a), static_cast<int64_t>(b), types));
    case Fn::kCeil:
    case Fn::kFloor:
    case Fn::kRound: return a;
    default:  // a function of the reals
      return static_cast<W>(
          truncate(float_fn(fn, static_cast<double>(a), static_cast<double>(b)), std::is_unsigned_v<W>));
  }
}

int64_t integer_pow(const FnTypes& types, Scalar a, Scalar b) {
  const bool is_signed = !is_unsigned(types.in);
  if (!is_float(types.second)) return static_cast<int64_t>(integer_power(static_cast<uint64_t>(a.i), b.i, is_signed));
  const double base = is_signed ? static_cast<double>(a.i) : static_cast<double>(static_cast<uint64_t>(a.i));
  return truncate(std::pow(base, b.f), !is_signed);
}

template <class W>
PLICA_INLINE bool compare(Fn fn, W a, W b) {
  switch (fn) {
    case Fn::kEqual: return a == b;
    case Fn::kLess: return a < b;
    case Fn::kLessOrEqual: return a <= b;
    case Fn::kAnd: return a != 0 && b != 0;
    case Fn::kOr: return a != 0 || b != 0;
    case Fn::kXor: return (a != 0) != (b != 0);
    case Fn::kNot: return a == 0;
    case Fn::kIsNaN: return a != a;
    default: return std::isinf(static_cast<double>(a));
  }
}

PLICA_INLINE bool is_true(Fn fn, DType in, Scalar a, Scalar b) {
  if (is_float(in)) return compare(fn, a.f, b.f);
  if (is_unsigned(in)) return compare(fn, static_cast<uint64_t>(a.i), static_cast<uint64_t>(b.i));
  return compare(fn, a.i, b.i);
}

PLICA_INLINE int64_t integer(Fn fn, const FnTypes& types, Scalar a, Scalar b) {
  if (fn == Fn::kPow) return integer_pow(types, a, b);
  if (!is_unsigned(types.in)) return integer_fn(fn, types, a.i, b.i);
  return static_cast<int64_t>(integer_fn(fn, types, static_cast<uint64_t>(a.i), static_cast<uint64_t>(b.i)));
}

}  // namespace

void load_scalars(const TensorView& x, int64_t at, int64_t step, Scalar* to, int64_t n) {
  visit_dtype(x.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_floating_point_v<Wide<T>>)
        to[i].f = read<T>(x, at + i * step);
      else
        to[i].i = static_cast<int64_t>(read<T>(x, at + i * step));
    }
  });
}

void store_scalars(const TensorView& y, int64_t at, int64_t step, DType dtype, const Scalar* from, int64_t n) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_floating_point_v<Wide<T>>)
        write<T>(y, at + i * step, from[i].f);
      else
        write<T>(y, at + i * step, static_cast<Wide<T>>(from[i].i));
    }
  });
}

Scalar load_scalar(const TensorView& x, int64_t at) {
  Scalar value;
  load_scalars(x, at, 0, &value, 1);
  return value;
}

void store_scalar(const TensorView& y, int64_t at, DType dtype, Scalar value) {
  store_scalars(y, at, 0, dtype, &value, 1);
}

Scalar make_scalar(DType dtype, double value) { return cast_scalar(Scalar{.f = value}, DType::kF64, dtype); }

Scalar cast_scalar(Scalar value, DType from, DType to) {
  if (is_float(from) && is_float(to)) return {.f = round_to(to, value.f)};
  if (to == DType::kBool) return {.i = is_float(from) ? value.f != 0 : value.i != 0};
  if (is_float(from)) return {.i = wrap_to(to, truncate(value.f, to == DType::kU64))};
  if (!is_float(to)) return {.i = wrap_to(to, value.i)};
  const auto bits = static_cast<uint64_t>(value.i);
  if (to == DType::kF64) return {.f = is_unsigned(from) ? static_cast<double>(bits) : static_cast<double>(value.i)};
  const float nearest = is_unsigned(from) ? static_cast<float>(bits) : static_cast<float>(value.i);
  return {.f = round_to(to, nearest)};
}

namespace {

PLICA_INLINE Scalar applied(Fn fn, const FnTypes& types, Scalar a, Scalar b, Scalar c) {
  switch (ops::def_of(fn).result) {
    case ops::FnResult::kCast: return cast_scalar(a, types.in, types.out);
    case ops::FnResult::kSelect: return a.i != 0 ? b : c;
    case ops::FnResult::kBool: return {.i = is_true(fn, types.in, a, b)};
    case ops::FnResult::kSame: break;
  }
  if (!is_float(types.in)) return {.i = wrap_to(types.out, integer(fn, types, a, b))};
  if (fn == Fn::kPow && !is_float(types.second)) b = cast_scalar(b, types.second, DType::kF64);
  return {.f = round_to(types.out, float_fn(fn, a.f, b.f))};
}

}  // namespace

Scalar apply(Fn fn, const FnTypes& types, Scalar a, Scalar b, Scalar c) {
  Scalar y;
  apply(fn, types, &a, &b, &c, &y, 1);
  return y;
}

void apply(Fn fn, const FnTypes& types, const Scalar* a, const Scalar* b, const Scalar* c, Scalar* y, int64_t n) {
  switch (fn) {
#define PLICA_POINTWISE(name, num_inputs, result)                                         \
  case Fn::k##name:                                                                       \
    for (int64_t i = 0; i < n; ++i) y[i] = applied(Fn::k##name, types, a[i], b[i], c[i]); \
    return;
#include "ops/pointwise_list.inc"
#undef PLICA_POINTWISE
  }
}

}  // namespace plica
