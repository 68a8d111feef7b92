// Long because it defines each primitive in every dtype, as ops/scalar.cpp does on the host.
#pragma once

#include "ops/cuda/element.cuh"
#include "ops/pointwise.h"

namespace plica::cuda {

// One element while it is computed with: floats as f, integers as the 64 bits of i, bool as 0 or 1 in i. The same
// arithmetic as the reference on the CPU: f64 and 64 bits, one rounding to the result's dtype.
union Scalar {
  double f;
  int64_t i;
};

// The dtypes of one application of a function.
struct FnTypes {
  DType in;      // of the first operand (of Where: of the second)
  DType second;  // of the exponent of Pow; else as `in`
  DType out;
};

__device__ inline double round_to(DType dtype, double x) {
  switch (dtype) {
    case DType::kF64: return x;
    case DType::kF16: return widen(narrow<F16>(x));
    case DType::kBF16: return widen(narrow<BF16>(x));
    default: return static_cast<float>(x);
  }
}

__device__ inline int64_t wrap_to(DType dtype, int64_t x) {
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

// Truncated; NaN is 0, what is out of range the nearest value of 64 bits: what the conversions saturate to.
__device__ inline int64_t truncate(double x, bool is_unsigned) {
  if (x != x) return 0;
  if (is_unsigned && x >= 0x1p63) return static_cast<int64_t>(__double2ull_rz(x));
  return __double2ll_rz(x);
}

__device__ inline double floor_mod(double a, double b) {
  const double rest = fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

__device__ inline double float_fn(ops::Fn fn, double a, double b) {
  using ops::Fn;
  switch (fn) {
    case Fn::kAbs: return fabs(a);
    case Fn::kAcos: return acos(a);
    case Fn::kAcosh: return acosh(a);
    case Fn::kAdd: return a + b;
    case Fn::kAsin: return asin(a);
    case Fn::kAsinh: return asinh(a);
    case Fn::kAtan: return atan(a);
    case Fn::kAtanh: return atanh(a);
    case Fn::kCeil: return ceil(a);
    case Fn::kCos: return cos(a);
    case Fn::kCosh: return cosh(a);
    case Fn::kDiv: return a / b;
    case Fn::kErf: return erf(a);
    case Fn::kExp: return exp(a);
    case Fn::kFloor: return floor(a);
    case Fn::kFmod: return fmod(a, b);
    case Fn::kGelu: return 0.5 * a * (1 + erf(a * 0.70710678118654752));
    case Fn::kGeluTanh: return 0.5 * a * (1 + tanh(0.79788456080286536 * (a + 0.044715 * a * a * a)));
    case Fn::kLog: return log(a);
    case Fn::kMax: return a > b || a != a ? a : b;
    case Fn::kMin: return a < b || a != a ? a : b;
    case Fn::kMod: return floor_mod(a, b);
    case Fn::kMul: return a * b;
    case Fn::kNeg: return -a;
    case Fn::kPow: return pow(a, b);
    case Fn::kRelu: return a < 0 ? 0 : a;
    case Fn::kRound: return rint(a);
    case Fn::kSigmoid: return 1 / (1 + exp(-a));
    case Fn::kSign: return a > 0 ? 1 : a < 0 ? -1 : a;
    case Fn::kSilu: return a / (1 + exp(-a));
    case Fn::kSin: return sin(a);
    case Fn::kSinh: return sinh(a);
    case Fn::kSoftplus: return fmax(a, 0.0) + log1p(exp(-fabs(a)));
    case Fn::kSqrt: return sqrt(a);
    case Fn::kSub: return a - b;
    case Fn::kTan: return tan(a);
    case Fn::kTanh: return tanh(a);
    default: return a;
  }
}

// a to an integer power, wrapping; what a fraction would be is 0.
__device__ inline uint64_t integer_power(uint64_t a, int64_t b, bool is_signed) {
  const bool minus_one = is_signed && a == static_cast<uint64_t>(-1);
  if (b < 0) return a == 1 || (minus_one && b % 2 == 0) ? 1 : minus_one ? a : 0;
  uint64_t power = 1;
  for (auto left = static_cast<uint64_t>(b); left != 0; left >>= 1, a *= a)
    if (left & 1) power *= a;
  return power;
}

__device__ inline int64_t shifted(ops::Fn fn, int64_t a, int64_t b, DType in, int64_t bits) {
  const bool over = b < 0 || b >= bits;
  if (fn == ops::Fn::kShiftLeft) return over ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
  if (is_unsigned(in)) return over ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) >> b);
  return a >> (over ? 63 : b);
}

// Bits of an integer type.
__device__ inline int64_t bits_of(DType dtype) {
  switch (dtype) {
    case DType::kI16:
    case DType::kU16: return 16;
    case DType::kI32:
    case DType::kU32: return 32;
    case DType::kI64:
    case DType::kU64: return 64;
    default: return 8;
  }
}

template <class W>
__device__ bool is_negative(W x) {
  if constexpr (std::is_signed_v<W>)
    return x < 0;
  else
    return false;
}

template <class W>
__device__ W quotient(W x, W y) {
  if (y == 0) return 0;
  if (std::is_signed_v<W> && y == static_cast<W>(-1)) return static_cast<W>(0 - static_cast<uint64_t>(x));
  return x / y;
}
template <class W>
__device__ W remainder(bool sign_of_divisor, W x, W y) {
  if (y == 0 || (std::is_signed_v<W> && y == static_cast<W>(-1))) return 0;
  const W rest = x % y;
  return sign_of_divisor && rest != 0 && is_negative(rest) != is_negative(y) ? rest + y : rest;
}

template <class W>
__device__ W integer_fn(ops::Fn fn, DType in, W a, W b) {
  using ops::Fn;
  switch (fn) {
    case Fn::kAbs: return is_negative(a) ? static_cast<W>(0 - static_cast<uint64_t>(a)) : a;
    case Fn::kAdd: return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    case Fn::kSub: return static_cast<W>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
    case Fn::kMul: return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    case Fn::kNeg: return static_cast<W>(0 - static_cast<uint64_t>(a));
    case Fn::kDiv: return quotient(a, b);
    case Fn::kMod:
    case Fn::kFmod: return remainder(fn == Fn::kMod, a, b);
    case Fn::kMin: return a < b ? a : b;
    case Fn::kMax: return a > b ? a : b;
    case Fn::kRelu: return is_negative(a) ? 0 : a;
    case Fn::kSign: return static_cast<W>((a != 0 && !is_negative(a)) - is_negative(a));
    case Fn::kBitAnd: return a & b;
    case Fn::kBitOr: return a | b;
    case Fn::kBitXor: return a ^ b;
    case Fn::kBitNot: return static_cast<W>(~a);
    case Fn::kShiftLeft:
    case Fn::kShiftRight:
      return static_cast<W>(shifted(fn, static_cast<int64_t>(a), static_cast<int64_t>(b), in, bits_of(in)));
    case Fn::kCeil:
    case Fn::kFloor:
    case Fn::kRound: return a;
    default:  // a function of the reals
      return static_cast<W>(
          truncate(float_fn(fn, static_cast<double>(a), static_cast<double>(b)), std::is_unsigned_v<W>));
  }
}

__device__ inline int64_t integer(ops::Fn fn, const FnTypes& types, Scalar a, Scalar b) {
  const bool is_signed = !is_unsigned(types.in);
  if (fn == ops::Fn::kPow) {
    if (!is_float(types.second)) return static_cast<int64_t>(integer_power(static_cast<uint64_t>(a.i), b.i, is_signed));
    return truncate(pow(is_signed ? static_cast<double>(a.i) : static_cast<double>(static_cast<uint64_t>(a.i)), b.f),
                    !is_signed);
  }
  if (is_signed) return integer_fn(fn, types.in, a.i, b.i);
  return static_cast<int64_t>(integer_fn(fn, types.in, static_cast<uint64_t>(a.i), static_cast<uint64_t>(b.i)));
}

template <class W>
__device__ bool compare(ops::Fn fn, W a, W b) {
  using ops::Fn;
  switch (fn) {
    case Fn::kEqual: return a == b;
    case Fn::kLess: return a < b;
    case Fn::kLessOrEqual: return a <= b;
    case Fn::kAnd: return a != 0 && b != 0;
    case Fn::kOr: return a != 0 || b != 0;
    case Fn::kXor: return (a != 0) != (b != 0);
    case Fn::kNot: return a == 0;
    case Fn::kIsNaN: return a != a;
    default: return isinf(static_cast<double>(a));
  }
}

__device__ inline Scalar cast_scalar(Scalar value, DType from, DType to) {
  Scalar result;
  if (to == DType::kBool) {
    result.i = is_float(from) ? value.f != 0 : value.i != 0;
  } else if (!is_float(to)) {
    result.i = wrap_to(to, is_float(from) ? truncate(value.f, to == DType::kU64) : value.i);
  } else if (is_float(from)) {
    result.f = round_to(to, value.f);
  } else if (to == DType::kF64) {
    result.f = is_unsigned(from) ? static_cast<double>(static_cast<uint64_t>(value.i)) : static_cast<double>(value.i);
  } else {
    result.f =
        round_to(to, is_unsigned(from) ? __ull2float_rn(static_cast<uint64_t>(value.i)) : __ll2float_rn(value.i));
  }
  return result;
}

// fn(a, b, c), exact but for one rounding to `types.out`.
__device__ inline Scalar apply(ops::Fn fn, ops::FnResult result, const FnTypes& types, Scalar a, Scalar b, Scalar c) {
  Scalar y;
  switch (result) {
    case ops::FnResult::kCast: return cast_scalar(a, types.in, types.out);
    case ops::FnResult::kSelect: return a.i != 0 ? b : c;
    case ops::FnResult::kBool:
      y.i = is_float(types.in)      ? compare(fn, a.f, b.f)
            : is_unsigned(types.in) ? compare(fn, static_cast<uint64_t>(a.i), static_cast<uint64_t>(b.i))
                                    : compare(fn, a.i, b.i);
      return y;
    default: break;
  }
  if (!is_float(types.in)) {
    y.i = wrap_to(types.out, integer(fn, types, a, b));
    return y;
  }
  if (fn == ops::Fn::kPow && !is_float(types.second)) b = cast_scalar(b, types.second, DType::kF64);
  y.f = round_to(types.out, float_fn(fn, a.f, b.f));
  return y;
}

template <class T>
__device__ Scalar load_as(const void* x, int64_t at) {
  Scalar value;
  const auto wide = widen(static_cast<const T*>(x)[at]);
  if constexpr (std::is_floating_point_v<Wide<T>>)
    value.f = wide;
  else
    value.i = static_cast<int64_t>(wide);
  return value;
}

__device__ inline Scalar load_scalar(const void* x, DType dtype, int64_t at) {
  switch (dtype) {
    case DType::kF32: return load_as<float>(x, at);
    case DType::kF64: return load_as<double>(x, at);
    case DType::kF16: return load_as<F16>(x, at);
    case DType::kBF16: return load_as<BF16>(x, at);
    case DType::kBool: return load_as<bool>(x, at);
    case DType::kI8: return load_as<int8_t>(x, at);
    case DType::kI16: return load_as<int16_t>(x, at);
    case DType::kI32: return load_as<int32_t>(x, at);
    case DType::kI64: return load_as<int64_t>(x, at);
    case DType::kU8: return load_as<uint8_t>(x, at);
    case DType::kU16: return load_as<uint16_t>(x, at);
    case DType::kU32: return load_as<uint32_t>(x, at);
    default: return load_as<uint64_t>(x, at);
  }
}

__device__ inline void store_scalar(void* y, DType dtype, int64_t at, Scalar value) {
  switch (dtype) {
    case DType::kF32: static_cast<float*>(y)[at] = static_cast<float>(value.f); break;
    case DType::kF64: static_cast<double*>(y)[at] = value.f; break;
    case DType::kF16: static_cast<F16*>(y)[at] = narrow<F16>(value.f); break;
    case DType::kBF16: static_cast<BF16*>(y)[at] = narrow<BF16>(value.f); break;
    case DType::kBool: static_cast<bool*>(y)[at] = value.i != 0; break;
    case DType::kI8:
    case DType::kU8: static_cast<uint8_t*>(y)[at] = static_cast<uint8_t>(value.i); break;
    case DType::kI16:
    case DType::kU16: static_cast<uint16_t*>(y)[at] = static_cast<uint16_t>(value.i); break;
    case DType::kI32:
    case DType::kU32: static_cast<uint32_t*>(y)[at] = static_cast<uint32_t>(value.i); break;
    default: static_cast<int64_t*>(y)[at] = value.i; break;
  }
}

}  // namespace plica::cuda
