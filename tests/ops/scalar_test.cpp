#include "ops/scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/core/dtype.h"

namespace plica {
namespace {

using ops::Fn;

constexpr auto kMin64 = std::numeric_limits<int64_t>::min(), kMax64 = std::numeric_limits<int64_t>::max();

int64_t integer(Fn fn, DType dtype, int64_t a, int64_t b = 0) {
  return apply(fn, {dtype, dtype, dtype}, {.i = a}, {.i = b}, {}).i;
}

double real(Fn fn, double a, double b = 0, DType dtype = DType::kF32) {
  return apply(fn, {dtype, dtype, dtype}, {.f = a}, {.f = b}, {}).f;
}

int64_t cast_float(double x, DType to) { return cast_scalar({.f = x}, DType::kF64, to).i; }

TEST(Scalar, IntegersWrap) {
  EXPECT_EQ(integer(Fn::kAdd, DType::kI8, 127, 1), -128);
  EXPECT_EQ(integer(Fn::kSub, DType::kU8, 0, 1), 255);
  EXPECT_EQ(integer(Fn::kMul, DType::kI32, 1 << 30, 4), 0);
  EXPECT_EQ(integer(Fn::kAdd, DType::kI64, kMax64, 1), kMin64);
  EXPECT_EQ(integer(Fn::kNeg, DType::kI64, kMin64), kMin64);
  EXPECT_EQ(integer(Fn::kAbs, DType::kI8, -128), -128);
}

TEST(Scalar, DivisionTruncatesAndIsDefinedEverywhere) {
  EXPECT_EQ(integer(Fn::kDiv, DType::kI64, -7, 2), -3);
  EXPECT_EQ(integer(Fn::kDiv, DType::kI64, 7, 0), 0);
  EXPECT_EQ(integer(Fn::kDiv, DType::kI64, kMin64, -1), kMin64);
  EXPECT_EQ(integer(Fn::kDiv, DType::kU64, -2, 2), kMax64);
  EXPECT_EQ(integer(Fn::kMod, DType::kI64, 7, 0), 0);
  EXPECT_EQ(integer(Fn::kMod, DType::kI64, kMin64, -1), 0);
}

TEST(Scalar, ModHasTheDivisorsSignFmodTheDividends) {
  EXPECT_EQ(integer(Fn::kMod, DType::kI32, -7, 3), 2);
  EXPECT_EQ(integer(Fn::kMod, DType::kI32, 7, -3), -2);
  EXPECT_EQ(integer(Fn::kFmod, DType::kI32, -7, 3), -1);
  EXPECT_EQ(real(Fn::kMod, -7, 3), 2);
  EXPECT_EQ(real(Fn::kMod, 7, -3), -2);
  EXPECT_EQ(real(Fn::kFmod, -7, 3), -1);
}

TEST(Scalar, SixtyFourBitsStayExact) {
  constexpr int64_t kBig = (int64_t{1} << 53) + 1;
  EXPECT_EQ(integer(Fn::kAdd, DType::kI64, kBig, 0), kBig);
  EXPECT_EQ(integer(Fn::kMul, DType::kI64, kBig, 3), 3 * kBig);
  EXPECT_EQ(apply(Fn::kLess, {DType::kU64, DType::kU64, DType::kBool}, {.i = 1}, {.i = -1}, {}).i, 1);
  EXPECT_EQ(apply(Fn::kEqual, {DType::kI64, DType::kI64, DType::kBool}, {.i = kBig}, {.i = kBig - 1}, {}).i, 0);
}

TEST(Scalar, PowersAndShifts) {
  EXPECT_EQ(integer(Fn::kPow, DType::kI64, -3, 3), -27);
  EXPECT_EQ(integer(Fn::kPow, DType::kI64, 2, -1), 0);
  EXPECT_EQ(integer(Fn::kPow, DType::kI64, -1, -3), -1);
  EXPECT_EQ(apply(Fn::kPow, {DType::kI32, DType::kF32, DType::kI32}, {.i = 9}, {.f = 0.5}, {}).i, 3);
  EXPECT_EQ(apply(Fn::kPow, {DType::kF32, DType::kI64, DType::kF32}, {.f = 2}, {.i = -1}, {}).f, 0.5);
  EXPECT_EQ(integer(Fn::kShiftLeft, DType::kU8, 3, 7), 128);
  EXPECT_EQ(integer(Fn::kShiftRight, DType::kU8, 128, 8), 0);
  EXPECT_EQ(integer(Fn::kShiftRight, DType::kI64, -8, 100), -1);
  EXPECT_EQ(integer(Fn::kBitNot, DType::kU8, 1), 254);
}

TEST(Scalar, FloatsRoundOnce) {
  EXPECT_EQ(real(Fn::kAdd, 1, 0x1p-24), 1);
  EXPECT_EQ(real(Fn::kAdd, 1, 0x1p-24, DType::kF64), 1 + 0x1p-24);
  EXPECT_EQ(real(Fn::kMul, 300, 300, DType::kF16), INFINITY);
  EXPECT_EQ(real(Fn::kAdd, 1, 0x1p-9, DType::kBF16), 1);
  EXPECT_EQ(real(Fn::kRound, 2.5), 2);
  EXPECT_EQ(real(Fn::kRound, -1.5), -2);
}

TEST(Scalar, NaNPassesThrough) {
  EXPECT_TRUE(std::isnan(real(Fn::kMax, NAN, 1)));
  EXPECT_TRUE(std::isnan(real(Fn::kMin, 1, NAN)));
  EXPECT_TRUE(std::isnan(real(Fn::kRelu, NAN)));
  EXPECT_TRUE(std::isnan(real(Fn::kSign, NAN)));
  EXPECT_EQ(real(Fn::kSoftplus, 1000), 1000);
  EXPECT_EQ(real(Fn::kSigmoid, -1000), 0);
}

TEST(Scalar, CastsOfFloatsAreDefinedEverywhere) {
  EXPECT_EQ(cast_float(-1.9, DType::kI32), -1);
  EXPECT_EQ(cast_float(NAN, DType::kI64), 0);
  EXPECT_EQ(cast_float(1e30, DType::kI64), kMax64);
  EXPECT_EQ(cast_float(-1e30, DType::kI64), kMin64);
  EXPECT_EQ(cast_float(1.5e19, DType::kU64), static_cast<int64_t>(15000000000000000000u));
  EXPECT_EQ(cast_float(1e30, DType::kU64), -1);
  EXPECT_EQ(cast_float(300, DType::kU8), 44);
  EXPECT_EQ(cast_float(-1, DType::kU8), 255);
  EXPECT_EQ(cast_float(NAN, DType::kBool), 1);
  EXPECT_EQ(cast_float(0.25, DType::kBool), 1);
}

TEST(Scalar, CastsOfIntegersRoundOnce) {
  EXPECT_EQ(cast_scalar({.i = 300}, DType::kI32, DType::kI8).i, 44);
  EXPECT_EQ(cast_scalar({.i = 2}, DType::kI32, DType::kBool).i, 1);
  EXPECT_EQ(cast_scalar({.i = -1}, DType::kU64, DType::kF64).f, 0x1p64);
  // Through double this would round to even twice and lose the last bit.
  EXPECT_EQ(cast_scalar({.i = (int64_t{1} << 60) + (int64_t{1} << 36) + 1}, DType::kI64, DType::kF32).f,
            0x1p60 + 0x1p37);
}

TEST(Scalar, EveryFunctionTakesEveryDtype) {
  for (int d = 0; d < 13; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const OpDef& op : pointwise_ops()) {
      const Scalar one = make_scalar(dtype, 1);
      const Scalar y = apply(fn_of(op), {dtype, dtype, dtype}, one, one, one);
      const bool truth = ops::def_of(fn_of(op)).result == ops::FnResult::kBool || dtype == DType::kBool;
      EXPECT_TRUE(!truth || y.i == 0 || y.i == 1) << op.name;
    }
  }
}

}  // namespace
}  // namespace plica
