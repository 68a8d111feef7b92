#include "ops/rotary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable rotary_cases() {
  const ops::Rotary halves, pairs{.interleaved = true};
  return {"Rotary",
          {
              {"tiny", halves, {{{1, 2}}, {{1, 2}}, {{1, 2}}}, kFloats},
              {"odd", halves, {{{3, 5, 6}}, {{5, 6}}, {{5, 6}}}, kFloats},
              {"pairs", pairs, {{{3, 5, 6}}, {{5, 6}}, {{5, 6}}}, kFloats},
              {"heads", halves, {{{2, 4, 9, 16}, Layout::kHeads}, {{1, 1, 9, 16}}, {{9, 16}}}, kFloats},
              {"one angle", halves, {{{3, 8}}, {{1, 8}}, {{1}}}},
              {"pairs of heads", pairs, {{{2, 4, 9, 20}, Layout::kHeads}, {{1, 1, 9, 20}}, {{9, 20}}}},
              {"columns in memory", pairs, {{{3, 4, 8}, Layout::kTransposed}, {{4, 8}, Layout::kTransposed}, {{4, 8}}}},
              {"empty", halves, {{{2, 0, 8}}, {{0, 8}}, {{0, 8}}}},
              {"no width", halves, {{{2, 3, 0}}, {{3, 0}}, {{3, 0}}}},
              {"production", halves, {{{1, 20, 257, 64}, Layout::kHeads}, {{257, 64}}, {{257, 64}}}},
          }};
}

namespace {

using testing::ElementsAre;

TEST(Rotary, TurnsHalvesOrPairs) {
  const Tensor x = f32({1, 4}, {1, 2, 3, 4}), cos = f32({4}, {1, 1, 0, 0}), sin = f32({4}, {1, 10, 1, 10});
  EXPECT_THAT(evaluated("Rotary", ops::Rotary{}, {x, cos, sin}), ElementsAre(1 - 3, 2 - 40, 1, 20));
  EXPECT_THAT(evaluated("Rotary", ops::Rotary{.interleaved = true}, {x, cos, sin}), ElementsAre(1 - 2, 2 + 10, -4, 30));
}

TEST(Rotary, RefusesAnOddWidth) {
  const TensorType x{DType::kF32, {2, 3}, {}};
  EXPECT_EQ(inferred("Rotary", ops::Rotary{}, {x, x, x}), "invalid model: Rotary: x is 2x3, wanted an even last size");
}

}  // namespace

}  // namespace plica
