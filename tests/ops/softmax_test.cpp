#include "ops/softmax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable softmax_cases() {
  const ops::Softmax op, log{.log = true};
  return {"Softmax",
          {
              {"tiny", op, {{{1}}}, kFloats},
              {"odd", op, {{{3, 5, 7}}}, kFloats},
              {"logarithm", log, {{{4, 33}}}, kFloats},
              {"masked", op, {{.shape = {64, 9}, .fill = Fill::kMask}}, kFloats},
              {"masked logarithm", log, {{.shape = {64, 9}, .fill = Fill::kMask}}},
              {"no rows", op, {{{0, 8}}}},
              {"empty rows", op, {{{4, 0}}}},
              {"columns in memory", op, {{{6, 40}, Layout::kTransposed}}, kFloats},
              {"rows apart", log, {{{6, 48}, Layout::kGapped}}},
              {"backwards", op, {{{5, 20}, Layout::kReversed}}},
              {"repeated rows", op, {{{5, 20}, Layout::kRepeated}}},
              {"production", op, {{{20, 257, 257}}}},
          }};
}

namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsNan;

TEST(Softmax, NormalisesTheLastAxis) {
  const Tensor x = f32({2, 2}, {0, std::log(3), 1000, 1000});
  EXPECT_THAT(evaluated("Softmax", ops::Softmax{}, {x}),
              ElementsAre(DoubleNear(0.25, 1e-7), DoubleNear(0.75, 1e-7), 0.5, 0.5));
  EXPECT_THAT(evaluated("Softmax", ops::Softmax{.log = true}, {x}),
              ElementsAre(DoubleNear(std::log(0.25), 1e-6), DoubleNear(std::log(0.75), 1e-6),
                          DoubleNear(-std::log(2), 1e-7), DoubleNear(-std::log(2), 1e-7)));
}

TEST(Softmax, GivesNaNForARowThatIsAllMasked) {
  EXPECT_THAT(evaluated("Softmax", ops::Softmax{}, {f32({2}, {-INFINITY, -INFINITY})}), ElementsAre(IsNan(), IsNan()));
  EXPECT_THAT(evaluated("Softmax", ops::Softmax{}, {f32({2}, {-INFINITY, 3})}), ElementsAre(0, 1));
}

}  // namespace

}  // namespace plica
