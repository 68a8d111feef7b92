#include "ops/arg_reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable arg_reduce_cases() {
  using ops::ArgReduce;
  return {
      "ArgReduce",
      {
          {"tiny", ArgReduce{}, {{{1}}}, kFloats},
          {"rows",
           ArgReduce{.axis = 1},
           {{{5, 7}}},
           {DType::kF32, DType::kF64, DType::kF16, DType::kI8, DType::kI64, DType::kU8}},
          {"columns", ArgReduce{.axis = 0, .largest = false, .keepdims = false}, {{{5, 7}}}, kFloats},
          {"last of equals", ArgReduce{.axis = 1, .last = true}, {{{5, 200}}}, {DType::kI8}},
          {"special", ArgReduce{.axis = 1}, {{.shape = {16, 9}, .fill = Fill::kSpecial}}, {DType::kF32, DType::kF64}},
          {"columns in memory", ArgReduce{.axis = 1}, {{{5, 7}, Layout::kTransposed}}},
          {"backwards", ArgReduce{.axis = 1}, {{{5, 7}, Layout::kReversed}}},
          {"no rows", ArgReduce{.axis = 1}, {{{0, 7}}}},
          {"production", ArgReduce{.axis = 2, .keepdims = false}, {{{2, 257, 33}}}},
      }};
}

namespace {

using ops::ArgReduce;
using testing::ElementsAre;

TEST(ArgReduce, FindsTheFirstOrLastOfTheLargest) {
  const Tensor x = f32({2, 3}, {1, 5, 5, 9, 2, 9});
  EXPECT_THAT(evaluated("ArgReduce", ArgReduce{.axis = 1}, {x}), ElementsAre(1, 0));
  EXPECT_THAT(evaluated("ArgReduce", ArgReduce{.axis = 1, .last = true}, {x}), ElementsAre(2, 2));
  EXPECT_THAT(evaluated("ArgReduce", ArgReduce{.axis = 0, .largest = false}, {x}), ElementsAre(0, 1, 0));
}

TEST(ArgReduce, TakesNaNForTheExtreme) {
  const Tensor x = f32({3}, {1, NAN, 2});
  EXPECT_THAT(evaluated("ArgReduce", ArgReduce{}, {x}), ElementsAre(1));
  EXPECT_THAT(evaluated("ArgReduce", ArgReduce{.largest = false}, {x}), ElementsAre(1));
}

TEST(ArgReduce, RefusesAnEmptyAxis) {
  EXPECT_EQ(inferred("ArgReduce", ArgReduce{.axis = 1, .keepdims = false}, {{DType::kF32, {2, 3, 4}, {}}}), "i64 2x4");
  EXPECT_EQ(inferred("ArgReduce", ArgReduce{.axis = 0}, {{DType::kF32, {0, 3}, {}}}),
            "invalid model: ArgReduce: x is 0x3, wanted an element along axis 0");
}

}  // namespace

}  // namespace plica
