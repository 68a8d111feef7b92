#include "ops/cum_sum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable cum_sum_cases() {
  using ops::CumSum;
  return {
      "CumSum",
      {
          {"tiny", CumSum{}, {{{1}}}, kFloats},
          {"rows",
           CumSum{.axis = 1},
           {{{5, 7}}},
           {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32, DType::kI64, DType::kU32, DType::kU64}},
          {"columns", CumSum{.axis = 0, .exclusive = true}, {{{5, 7}}}},
          {"backwards", CumSum{.axis = 1, .exclusive = true, .reverse = true}, {{{5, 7}}}, kFloats},
          {"strided", CumSum{.axis = 1, .reverse = true}, {{{5, 7}, Layout::kTransposed}}},
          {"empty axis", CumSum{.axis = 1}, {{{5, 0}}}},
          {"no rows", CumSum{.axis = 1}, {{{0, 5}}}},
          {"production", CumSum{.axis = 1}, {{.shape = {8, 257}, .dtype = DType::kI64}}},
      }};
}

namespace {

using ops::CumSum;
using testing::ElementsAre;

TEST(CumSum, SumsWhatCameBefore) {
  const Tensor x = f32({4}, {1, 2, 3, 4});
  EXPECT_THAT(evaluated("CumSum", CumSum{}, {x}), ElementsAre(1, 3, 6, 10));
  EXPECT_THAT(evaluated("CumSum", CumSum{.exclusive = true}, {x}), ElementsAre(0, 1, 3, 6));
  EXPECT_THAT(evaluated("CumSum", CumSum{.reverse = true}, {x}), ElementsAre(10, 9, 7, 4));
  EXPECT_THAT(evaluated("CumSum", CumSum{.exclusive = true, .reverse = true}, {x}), ElementsAre(9, 7, 4, 0));
}

TEST(CumSum, RefusesSmallIntegers) {
  EXPECT_EQ(inferred("CumSum", CumSum{}, {{DType::kI8, {2}, {}}}),
            "invalid model: CumSum: x is i8, wanted a float or an integer of 32 or 64 bits");
}

}  // namespace

}  // namespace plica
