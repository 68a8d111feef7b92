#include "ops/scatter_elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable scatter_elements_cases() {
  using ops::ScatterElements;
  using ops::ScatterReduction;
  const OperandSpec rows{.shape = {3, 2}, .dtype = DType::kI64, .values = {0, 4, 1, 2, -1, 3}};
  const OperandSpec again{.shape = {3, 2}, .dtype = DType::kI32, .values = {0, 0, 1, 1, 2, 2}};
  std::vector<OpCase> cases = {
      {"tiny", ScatterElements{}, {{{1}}, {.shape = {1}, .dtype = DType::kI64, .values = {0}}, {{1}}}, kSizes},
      {"rows", ScatterElements{1}, {{{3, 5}}, rows, {{3, 2}}}, kSizes},
      {"bool", ScatterElements{1}, {{{3, 5}}, rows, {{3, 2}}}, {DType::kBool}},
      {"strided", ScatterElements{1}, {{{3, 5}, Layout::kTransposed}, rows, {{3, 2}, Layout::kReversed}}, kSizes},
      {"none", ScatterElements{1}, {{{3, 5}}, {.shape = {3, 0}, .dtype = DType::kI64}, {{3, 0}}}},
      {"production",
       ScatterElements{0},
       {{{257, 64}}, {.shape = {257, 64}, .fill = Fill::kIndices, .dtype = DType::kI64, .limit = 257}, {{257, 64}}}},
  };
  for (ScatterReduction reduction :
       {ScatterReduction::kAdd, ScatterReduction::kMul, ScatterReduction::kMax, ScatterReduction::kMin})
    cases.push_back({std::string(names_of(reduction)[static_cast<size_t>(reduction)]),
                     ScatterElements{1, reduction},
                     {{{3, 5}}, again, {{3, 2}}},
                     {DType::kF32, DType::kF64, DType::kF16, DType::kI32, DType::kI64, DType::kU8}});
  return {"ScatterElements", std::move(cases), false};
}

namespace {

using ops::ScatterElements;
using ops::ScatterReduction;
using testing::ElementsAre;

TEST(ScatterElements, WritesOrCombines) {
  const Tensor x = f32({1, 3}, {1, 2, 3}), at = i64({1, 2}, {1, 1}), updates = f32({1, 2}, {10, 20});
  EXPECT_THAT(evaluated("ScatterElements", ScatterElements{1}, {x, at, updates}), ElementsAre(1, 20, 3));
  EXPECT_THAT(evaluated("ScatterElements", ScatterElements{1, ScatterReduction::kAdd}, {x, at, updates}),
              ElementsAre(1, 32, 3));
  EXPECT_THAT(evaluated("ScatterElements", ScatterElements{1, ScatterReduction::kMul}, {x, at, updates}),
              ElementsAre(1, 400, 3));
  EXPECT_THAT(evaluated("ScatterElements", ScatterElements{1, ScatterReduction::kMin}, {x, at, updates}),
              ElementsAre(1, 2, 3));
  EXPECT_EQ(refused("ScatterElements", ScatterElements{1}, {x, i64({1, 1}, {-4}), f32({1, 1}, {0})}),
            "invalid input: ScatterElements: index -4, wanted one in [-3, 3)");
}

}  // namespace

}  // namespace plica
