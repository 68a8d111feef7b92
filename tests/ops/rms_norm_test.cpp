#include "ops/rms_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable rms_norm_cases() {
  const ops::RmsNorm op, wide{.eps = 1e-3};
  return {"RmsNorm",
          {
              {"tiny", op, {{{1, 1}}, {{1}}}, kFloats},
              {"odd", op, {{{3, 5, 7}}, {{7}}}, kFloats},
              {"bare", wide, {{{2, 33}}}, kFloats},
              {"no rows", op, {{{0, 8}}, {{8}}}},
              {"no channels", op, {{{4, 0}}, {{0}}}},
              {"columns in memory", op, {{{6, 40}, Layout::kTransposed}, {{40}}}, kFloats},
              {"rows apart", op, {{{6, 48}, Layout::kGapped}, {{48}}}},
              {"backwards", op, {{{5, 20}, Layout::kReversed}, {{20}, Layout::kReversed}}},
              {"production", op, {{{257, 1024}}, {.shape = {1024}, .constant = true}}},
          }};
}

namespace {

using testing::ElementsAre;

TEST(RmsNorm, DividesByTheRootOfTheMeanSquare) {
  const Tensor x = f32({2, 2}, {1, 7, -3, 3}), gamma = f32({2}, {1, 2});
  EXPECT_THAT(evaluated("RmsNorm", ops::RmsNorm{.eps = 0}, {x, gamma}),
              ElementsAre(static_cast<float>(0.2), static_cast<float>(2.8), -1, 2));
  EXPECT_THAT(evaluated("RmsNorm", ops::RmsNorm{.eps = 7}, {f32({1, 1}, {3})}), ElementsAre(0.75));
}

}  // namespace

}  // namespace plica
