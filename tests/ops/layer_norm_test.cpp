#include "ops/layer_norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable layer_norm_cases() {
  const ops::LayerNorm op, wide{.eps = 1e-3};
  return {
      "LayerNorm",
      {
          {"tiny", op, {{{1, 1}}, {{1}}, {{1}}}, kFloats},
          {"odd", op, {{{3, 5, 7}}, {{7}}, {{7}}}, kFloats},
          {"bare", wide, {{{2, 33}}}, kFloats},
          {"no beta", op, {{{9, 64}}, {{64}}}},
          {"no gamma", op, {{{9, 64}}, {.absent = true}, {{64}}}},
          {"no rows", op, {{{0, 8}}, {{8}}, {{8}}}},
          {"no channels", op, {{{4, 0}}, {{0}}, {{0}}}},
          {"one axis", op, {{{40}}, {{40}}, {{40}}}},
          {"columns in memory", op, {{{6, 40}, Layout::kTransposed}, {{40}}, {{40}}}, kFloats},
          {"many columns in memory", op, {{{70, 100}, Layout::kTransposed}, {{100}}, {{100}}}, kFloats},
          {"batches of columns", op, {{{3, 66, 40}, Layout::kTransposed}, {{40}}, {.absent = true}}, kFloats},
          {"rows apart", op, {{{6, 48}, Layout::kGapped}, {{48}}, {{48}}}, kFloats},
          {"heads", op, {{{2, 4, 9, 16}, Layout::kHeads}, {{16}}, {{16}}}},
          {"backwards", op, {{{5, 20}, Layout::kReversed}, {{20}, Layout::kReversed}, {{20}}}},
          {"repeated rows", op, {{{5, 20}, Layout::kRepeated}, {{20}, Layout::kRepeated}, {{20}}}},
          {"production", op, {{{257, 1280}}, {.shape = {1280}, .constant = true}, {.shape = {1280}, .constant = true}}},
      }};
}

namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(LayerNorm, CentresAndScalesEachRow) {
  const Tensor x = f32({2, 2}, {1, 3, 10, 14}), gamma = f32({2}, {1, 2}), beta = f32({2}, {0, 0.5});
  EXPECT_THAT(evaluated("LayerNorm", ops::LayerNorm{.eps = 0}, {x}), ElementsAre(-1, 1, -1, 1));
  EXPECT_THAT(evaluated("LayerNorm", ops::LayerNorm{.eps = 0}, {x, gamma, beta}), ElementsAre(-1, 2.5, -1, 2.5));
  EXPECT_THAT(evaluated("LayerNorm", ops::LayerNorm{.eps = 3}, {x}),
              ElementsAre(-0.5, 0.5, DoubleNear(-2 / std::sqrt(7), 1e-7), DoubleNear(2 / std::sqrt(7), 1e-7)));
}

TEST(LayerNorm, RefusesWrongOperands) {
  const Tensor x = f32({2, 2}, {1, 3, 10, 14});
  EXPECT_EQ(refused("LayerNorm", ops::LayerNorm{}, {x, f32({1}, {1})}),
            "invalid model: LayerNorm: gamma is 1, wanted 2");
  EXPECT_EQ(refused("LayerNorm", ops::LayerNorm{}, {i64({1}, {1})}),
            "invalid model: LayerNorm: x is i64, wanted f32, f64, f16 or bf16");
}

}  // namespace

}  // namespace plica
