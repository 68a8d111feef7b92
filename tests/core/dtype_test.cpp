#include "runtime/core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plica {
namespace {

TEST(DType, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const F16 half{static_cast<uint16_t>(bits)};
    const float wide = to_float(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(to_float(to_f16(wide))));
      continue;
    }
    EXPECT_EQ(to_f16(wide).bits, half.bits) << bits;
  }
}

TEST(DType, HalfRoundsToNearestEven) {
  EXPECT_EQ(to_f16(1.0f + 0x1p-11f).bits, 0x3c00);
  EXPECT_EQ(to_f16(1.0f + 3 * 0x1p-11f).bits, 0x3c02);
  EXPECT_EQ(to_f16(65519.0f).bits, 0x7bff);
  EXPECT_EQ(to_f16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(to_f16(0x1p-25f).bits, 0);
  EXPECT_EQ(to_f16(-std::numeric_limits<float>::infinity()).bits, 0xfc00);
}

TEST(DType, BFloatKeepsNaNAndRounds) {
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::nanf("")))));
  EXPECT_EQ(to_bf16(1.0f + 0x1p-8f).bits, 0x3f80);
  EXPECT_EQ(to_bf16(1.0f + 3 * 0x1p-8f).bits, 0x3f82);
}

TEST(DType, NamesParseBack) {
  for (int i = 0; i < 13; ++i) EXPECT_EQ(parse_dtype(name_of(static_cast<DType>(i))), static_cast<DType>(i));
  EXPECT_EQ(parse_dtype("f31"), std::nullopt);
}

}  // namespace
}  // namespace plica
