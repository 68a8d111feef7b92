#include "ops/scatter_nd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable scatter_nd_cases() {
  using ops::ScatterNd;
  using ops::ScatterReduction;
  const OperandSpec elements{.shape = {2, 2}, .dtype = DType::kI64, .values = {0, 1, -1, 3}};
  const OperandSpec rows{.shape = {2, 1}, .dtype = DType::kI64, .values = {2, 0}},
      again{.shape = {2, 1}, .dtype = DType::kI64, .values = {1, 1}};
  std::vector<OpCase> cases = {
      {"tiny", ScatterNd{}, {{{1}}, {.shape = {1, 1}, .dtype = DType::kI64, .values = {0}}, {{1}}}, kSizes},
      {"elements", ScatterNd{}, {{{3, 4}}, elements, {{2}}}, kSizes},
      {"rows", ScatterNd{}, {{{3, 4}}, rows, {{2, 4}}}, kSizes},
      {"strided", ScatterNd{}, {{{3, 4}, Layout::kTransposed}, rows, {{2, 4}, Layout::kTransposed}}, kSizes},
      {"none", ScatterNd{}, {{{3, 4}}, {.shape = {0, 1}, .dtype = DType::kI64}, {{0, 4}}}},
      {"production",
       ScatterNd{},
       {{{257, 64}}, {.shape = {100, 1}, .fill = Fill::kIndices, .dtype = DType::kI64, .limit = 257}, {{100, 64}}}},
  };
  for (ScatterReduction reduction :
       {ScatterReduction::kAdd, ScatterReduction::kMul, ScatterReduction::kMax, ScatterReduction::kMin})
    cases.push_back({std::string(names_of(reduction)[static_cast<size_t>(reduction)]),
                     ScatterNd{reduction},
                     {{{3, 4}}, again, {{2, 4}}},
                     {DType::kF32, DType::kF16, DType::kI64, DType::kU8}});
  return {"ScatterNd", std::move(cases), false};
}

namespace {

using ops::ScatterNd;
using ops::ScatterReduction;
using testing::ElementsAre;

TEST(ScatterNd, WritesOrCombines) {
  const Tensor x = f32({2, 2}, {1, 2, 3, 4}), at = i64({2, 1}, {0, 0}), updates = f32({2, 2}, {5, 6, 7, 8});
  EXPECT_THAT(evaluated("ScatterNd", ScatterNd{}, {x, at, updates}), ElementsAre(7, 8, 3, 4));
  EXPECT_THAT(evaluated("ScatterNd", ScatterNd{ScatterReduction::kAdd}, {x, at, updates}), ElementsAre(13, 16, 3, 4));
  EXPECT_THAT(evaluated("ScatterNd", ScatterNd{}, {x, i64({1, 2}, {-1, 0}), f32({1}, {9})}), ElementsAre(1, 2, 9, 4));
  EXPECT_EQ(refused("ScatterNd", ScatterNd{}, {x, i64({1, 2}, {0, 2}), f32({1}, {9})}),
            "invalid input: ScatterNd: index 2, wanted one in [-2, 2)");
  EXPECT_EQ(refused("ScatterNd", ScatterNd{}, {x, at, f32({2}, {1, 2})}),
            "invalid model: ScatterNd: updates is 2, wanted 2x2");
}

}  // namespace

}  // namespace plica
