#include "ops/concat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable concat_cases() {
  using ops::Concat;
  return {
      "Concat",
      {
          {"tiny", Concat{}, {{{1}}, {{1}}}, kSizes},
          {"one", Concat{}, {{{3, 4}}}, kSizes},
          {"first axis", Concat{0}, {{{2, 5}}, {{3, 5}}, {{1, 5}}}, kSizes},
          {"last axis", Concat{1}, {{{5, 2}}, {{5, 3}}, {{5, 1}}}, kSizes},
          {"middle axis", Concat{1}, {{{2, 3, 7}}, {{2, 4, 7}, Layout::kTransposed}}, kSizes},
          {"bool", Concat{1}, {{{2, 3}}, {{2, 4}}}, {DType::kBool}},
          {"an empty one", Concat{1}, {{{2, 0}}, {{2, 4}}, {{2, 0}}}},
          {"all empty", Concat{1}, {{{0, 2}}, {{0, 4}}}},
          {"strided", Concat{1}, {{{3, 4}, Layout::kGapped}, {{3, 5}, Layout::kReversed}, {{3, 2}, Layout::kRepeated}}},
          {"production", Concat{2}, {{{1, 257, 320}}, {{1, 257, 640}}}},
      }};
}

namespace {

using ops::Concat;
using testing::ElementsAre;

TEST(Concat, PutsInputsSideBySide) {
  const Tensor a = f32({2, 1}, {1, 2}), b = f32({2, 2}, {3, 4, 5, 6});
  EXPECT_THAT(evaluated("Concat", Concat{1}, {a, b}), ElementsAre(1, 3, 4, 2, 5, 6));
  EXPECT_THAT(evaluated("Concat", Concat{0}, {b, b}), ElementsAre(3, 4, 5, 6, 3, 4, 5, 6));
}

TEST(Concat, RefusesOtherSizesTypesAndAxes) {
  const TensorType a{DType::kF32, {2, 1}, {}}, b{DType::kF32, {3, 1}, {}}, c{DType::kI64, {2, 1}, {}};
  EXPECT_EQ(inferred("Concat", Concat{1}, {a, b}),
            "invalid model: Concat: inputs are 2x1 and 3x1, wanted equal sizes but for axis 1");
  EXPECT_EQ(inferred("Concat", Concat{1}, {a, c}), "invalid model: Concat: an input is i64, wanted f32");
  EXPECT_EQ(inferred("Concat", Concat{2}, {a, a}), "invalid model: Concat: axis is 2, wanted an axis in [0, 2)");
}

}  // namespace

}  // namespace plica
