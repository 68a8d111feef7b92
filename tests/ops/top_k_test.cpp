#include "ops/top_k.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable top_k_cases() {
  using ops::TopK;
  return {"TopK",
          {
              {"tiny", TopK{.axis = 0, .k = 1}, {{{1}}}, kFloats},
              {"rows",
               TopK{.axis = 1, .k = 3},
               {{{5, 7}}},
               {DType::kF32, DType::kF64, DType::kF16, DType::kI8, DType::kI64, DType::kU8}},
              {"columns", TopK{.axis = 0, .k = 4, .largest = false}, {{{5, 7}}}, kFloats},
              {"with equals", TopK{.axis = 1, .k = 150}, {{{2, 200}}}, {DType::kI8}},
              {"special", TopK{.axis = 1, .k = 9}, {{.shape = {16, 9}, .fill = Fill::kSpecial}}, {DType::kF32}},
              {"columns in memory", TopK{.axis = 1, .k = 7}, {{{5, 7}, Layout::kTransposed}}},
              {"none", TopK{.axis = 1, .k = 0}, {{{5, 7}}}},
              {"no rows", TopK{.axis = 1, .k = 2}, {{{0, 7}}}},
              {"production", TopK{.axis = 1, .k = 30}, {{{257, 257}}}},
          }};
}

namespace {

using ops::TopK;
using testing::ElementsAre;
using testing::IsNan;

TEST(TopK, SortsAndNamesTheLowerIndexFirst) {
  const Tensor x = f32({2, 3}, {1, 5, 5, 9, 2, 9});
  EXPECT_THAT(evaluated("TopK", TopK{.axis = 1, .k = 2}, {x}), ElementsAre(5, 5, 9, 9));
  EXPECT_THAT(evaluated("TopK", TopK{.axis = 1, .k = 2}, {x}, 1), ElementsAre(1, 2, 0, 2));
  EXPECT_THAT(evaluated("TopK", TopK{.axis = 0, .k = 1, .largest = false}, {x}, 1), ElementsAre(0, 1, 0));
}

TEST(TopK, TakesNaNForTheLargest) {
  EXPECT_THAT(evaluated("TopK", TopK{.axis = 0, .k = 2}, {f32({3}, {1, NAN, 2})}), ElementsAre(IsNan(), 2));
}

TEST(TopK, RefusesMoreThanThereAre) {
  EXPECT_EQ(inferred("TopK", TopK{.axis = 1, .k = 4}, {{DType::kF32, {2, 3}, {}}}),
            "invalid model: TopK: k is 4, wanted 0 to 3, the size of axis 1");
}

}  // namespace

}  // namespace plica
