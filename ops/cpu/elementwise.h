#pragma once

#include <cstdint>

namespace plica::cpu {

// Functions of f32 values, element by element. Truth is 1 or 0; a condition holds where it is not 0.
enum class Elementwise : uint8_t {
  kCopy,
  kAbs,
  kNeg,
  kRelu,
  kSquare,
  kSqrt,
  kExp,
  kLog,
  kErf,
  kSin,
  kCos,
  kTanh,
  kSigmoid,
  kSilu,
  kGelu,
  kGeluTanh,
  kFloor,
  kCeil,
  kRound,
  kSign,
  kNot,
  kIsNonzero,
  kIsNaN,
  kIsInf,  // of a
  kAdd,
  kSub,
  kMul,
  kDiv,
  kMax,
  kMin,
  kPow,
  kEqual,
  kLess,
  kLessOrEqual,
  kAnd,
  kOr,
  kXor,    // of a and b
  kWhere,  // a ? b : c
};

// y[i] = f(a[i], b[i], c[i]) for i < n; operands that f does not have may be null; y may be an operand.
using ElementwiseFn = void (*)(const float* a, const float* b, const float* c, float* y, int64_t n);

ElementwiseFn elementwise(Elementwise fn);  // for the vectors of this machine

}  // namespace plica::cpu
