#include "ops/outer_product_mean.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable outer_product_mean_cases() {
  const OperandSpec none{.absent = true};
  const ops::OuterProductMean op, scaled{.scale = 0.125};
  return {"OuterProductMean",
          {
              {"tiny", op, {{{1, 1, 1, 1}}, {{1, 1, 1, 1}}, {{1, 1}}}, kFloats},
              {"odd", scaled, {{{2, 5, 7, 3}}, {{2, 5, 9, 4}}, {{12, 6}}, {{6}}}, kFloats},
              {"normed",
               op,
               {{{1, 5, 7, 4}}, {{1, 5, 7, 4}}, {{16, 8}}, {{8}}, {.shape = {1, 7, 7, 1}, .fill = Fill::kPositive}},
               kFloats},
              {"norm of all pairs",
               op,
               {{{1, 5, 7, 4}}, {{1, 5, 7, 4}}, {{16, 8}}, none, {.shape = {1}, .fill = Fill::kPositive}}},
              {"residual", scaled, {{{1, 5, 7, 4}}, {{1, 5, 7, 4}}, {{16, 8}}, {{8}}, none, {{1, 7, 7, 8}}}, kFloats},
              {"halves of one projection",
               op,
               {{{1, 6, 9, 8}, Layout::kGapped}, {{1, 6, 9, 8}, Layout::kGapped}, {{64, 16}, Layout::kTransposed}}},
              {"positions first", op, {{{1, 6, 9, 8}, Layout::kHeads}, {{1, 6, 9, 8}, Layout::kHeads}, {{64, 16}}}},
              {"no sequences", op, {{{1, 0, 4, 2}}, {{1, 0, 4, 2}}, {{4, 3}}, {{3}}}},
              {"no positions", op, {{{1, 3, 0, 2}}, {{1, 3, 0, 2}}, {{4, 3}}, {{3}}}},
              {"production",
               op,
               {{{1, 32, 65, 16}},
                {{1, 32, 65, 16}},
                {.shape = {256, 64}, .constant = true},
                {{64}},
                {.shape = {1, 65, 65, 1}, .fill = Fill::kPositive}},
               {DType::kF32},
               4},
              {"few pairs",
               scaled,
               {{{1, 6, 9, 8}},
                {{1, 6, 11, 16}},
                {.shape = {128, 24}, .constant = true},
                {{24}},
                {.shape = {1, 9, 11, 1}, .fill = Fill::kPositive},
                {{1, 9, 11, 24}}},
               {DType::kF16, DType::kBF16},
               2},
              {"sums beyond fp16",
               ops::OuterProductMean{.scale = 1.0 / 256},
               {{.shape = {1, 256, 3, 8}, .values = std::vector<double>(256 * 3 * 8, 20)},
                {.shape = {1, 256, 4, 16}, .values = std::vector<double>(256 * 4 * 16, 20)},
                {{128, 8}}},
               {DType::kF16},
               2},
              {"few pairs of many channels",
               ops::OuterProductMean{.scale = 0.03125},
               {{{2, 33, 5, 32}}, {{2, 33, 18, 32}}, {{1024, 72}}, {{72}}},
               {DType::kF16, DType::kBF16},
               2},
          }};
}

namespace {

using testing::ElementsAre;

TEST(OuterProductMean, SumsProductsOverSequences) {
  const Tensor a = f32({1, 2, 1, 2}, {1, 2, 3, 4}), b = f32({1, 2, 2, 1}, {1, 10, 2, 20});
  const Tensor weight = f32({2, 1}, {1, 100}), bias = f32({1}, {0.5}), norm = f32({1, 1, 2, 1}, {1, 2});
  // Pair (0, 0): products (1 + 6, 2 + 8); pair (0, 1): ten times that.
  EXPECT_THAT(evaluated("OuterProductMean", ops::OuterProductMean{}, {a, b, weight}), ElementsAre(1007, 10070));
  EXPECT_THAT(evaluated("OuterProductMean", ops::OuterProductMean{.scale = 0.5}, {a, b, weight, bias, norm}),
              ElementsAre(504, 2518));
  EXPECT_THAT(evaluated("OuterProductMean", ops::OuterProductMean{}, {a, b, weight, {}, {}, f32({1, 1, 2, 1}, {1, 2})}),
              ElementsAre(1008, 10072));
}

}  // namespace

}  // namespace plica
