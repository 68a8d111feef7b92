#include "tools/allclose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace plica {
namespace {

using testing::HasSubstr;

Difference compare_floats(std::vector<float> found, std::vector<float> wanted, const Tolerance& tolerance = {}) {
  const auto size = static_cast<int64_t>(found.size());
  return compare({{DType::kF32, {size}, {}}, found.data()}, {{DType::kF32, {size}, {}}, wanted.data()}, tolerance);
}

TEST(Allclose, NanEqualsNanAndInfinityItself) {
  const float nan = std::nanf("");
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(compare_floats({nan, infinity, 1}, {nan, infinity, 1}).within);
  EXPECT_FALSE(compare_floats({nan}, {1}).within);
  EXPECT_FALSE(compare_floats({1}, {nan}).within);
  EXPECT_FALSE(compare_floats({infinity}, {-infinity}).within);
  EXPECT_FALSE(compare_floats({1e30f}, {infinity}).within);
}

TEST(Allclose, ToleranceIsAbsolutePlusRelativeToWhatIsWanted) {
  EXPECT_TRUE(compare_floats({100.09f}, {100}, {1e-3, 0}).within);
  EXPECT_FALSE(compare_floats({100.2f}, {100}, {1e-3, 0}).within);
  EXPECT_TRUE(compare_floats({0.01f}, {0}, {0, 0.02}).within);
}

TEST(Allclose, TellsWhereAndHowMuch) {
  std::vector<float> found{0, 1, 2, 3.5f};
  std::vector<float> wanted{0, 1, 2, 3};
  const Difference difference =
      compare({{DType::kF32, {2, 2}, {}}, found.data()}, {{DType::kF32, {2, 2}, {}}, wanted.data()}, {});
  EXPECT_THAT(difference.sentence, HasSubstr("at [1, 1] found 3.5, wanted 3; 1 of 4 elements differ, at most by 0.5"));
  EXPECT_DOUBLE_EQ(difference.largest, 0.5);
}

TEST(Allclose, DTypeAndShapeMustAgree) {
  float value = 1;
  int64_t count = 1;
  EXPECT_THAT(compare({{DType::kF32, {1}, {}}, &value}, {{DType::kI64, {1}, {}}, &count}, {}).sentence,
              HasSubstr("found f32 1, wanted i64 1"));
  EXPECT_FALSE(compare({{DType::kF32, {1}, {}}, &value}, {{DType::kF32, {}, {}}, &value}, {}).within);
}

TEST(Allclose, ReadsStridesAndEmptyTensors) {
  std::vector<float> rows{1, 2, 3, 4};
  std::vector<float> columns{1, 3, 2, 4};
  EXPECT_TRUE(
      compare({{DType::kF32, {2, 2}, {1, 2}}, rows.data()}, {{DType::kF32, {2, 2}, {}}, columns.data()}, {}).within);
  EXPECT_TRUE(compare({{DType::kF32, {0, 2}, {}}, nullptr}, {{DType::kF32, {0, 2}, {}}, nullptr}, {}).within);
}

}  // namespace
}  // namespace plica
