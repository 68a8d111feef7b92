#include "ops/softmax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
namespace {

OperandSpec bool_mask(Shape shape, Layout layout = Layout::kDense) {
  return {.shape = std::move(shape), .layout = layout, .dtype = DType::kBool};
}

}  // namespace

OpTable softmax_cases() {
  const OperandSpec none{.absent = true};
  const ops::Softmax op, log{.log = true}, filled{.fill = -1e4}, masked{.fill = -INFINITY};
  const ops::Softmax zeroed{.fill = -INFINITY, .zero_nan = true}, masked_log{.log = true, .fill = -1e4};
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
              {"bias of all rows", op, {{{2, 3, 9, 11}}, {{3, 9, 11}}}, kFloats},
              {"bias of rows", op, {{{2, 3, 9, 16}}, {{3, 9, 1}}}, kFloats},
              {"bias with its heads last", op, {{{2, 3, 9, 11}}, {{2, 3, 9, 11}, Layout::kHeads}}},
              {"bias in columns", op, {{{2, 9, 40}}, {{9, 40}, Layout::kTransposed}}, kFloats},
              {"mask of keys", masked, {{{2, 3, 9, 64}}, none, bool_mask({2, 1, 1, 64})}, kFloats},
              {"mask of rows and keys", filled, {{{2, 3, 9, 11}}, none, bool_mask({9, 11}, Layout::kTransposed)}},
              {"additive mask", op, {{{2, 3, 9, 11}}, none, {.shape = {2, 1, 1, 11}, .fill = Fill::kMask}}, kFloats},
              {"bias and mask", filled, {{{2, 3, 9, 32}}, {{1, 3, 9, 32}}, bool_mask({2, 1, 1, 32})}, kFloats},
              {"bias and additive mask", op, {{{2, 9, 11}}, {{9, 11}}, {.shape = {11}, .fill = Fill::kMask}}},
              {"rows without keys", masked, {{{64, 3, 2}}, none, bool_mask({64, 1, 2})}, kFloats},
              {"rows without keys zeroed", zeroed, {{{64, 3, 2}}, none, bool_mask({64, 1, 2})}, kFloats},
              {"what is not finite", op, {{.shape = {40, 24}, .fill = Fill::kSpecial}}},
              {"no rows of a bias", op, {{{0, 8}}, {{8}}}},
              {"empty masked rows", zeroed, {{{4, 0}}, none, bool_mask({4, 1})}},
              {"biased columns in memory", op, {{{6, 40}, Layout::kTransposed}, {{40}}}, kFloats},
              {"masked rows apart", filled, {{{6, 48}, Layout::kGapped}, none, bool_mask({48})}},
              {"bias backwards", op, {{{5, 20}, Layout::kReversed}, {{5, 20}, Layout::kReversed}}},
              {"repeated rows, bias of each", op, {{{5, 20}, Layout::kRepeated}, {{5, 20}}}},
              {"wide", op, {{{3, 6000}}, {{6000}}}},
              {"weights of attention", masked, {{{1, 20, 257, 257}}, {{20, 257, 257}}, bool_mask({1, 1, 1, 257})}},
              {"logarithm of bias and mask", masked_log, {{{2, 9, 32}}, {{9, 32}}, bool_mask({2, 1, 32})}, kFloats},
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

TEST(Softmax, AddsABias) {
  const Tensor s = f32({2, 2}, {0, std::log(3), 1, 1}), bias = f32({2}, {0, std::log(2)});
  EXPECT_THAT(evaluated("Softmax", ops::Softmax{}, {s, bias}),
              ElementsAre(DoubleNear(1.0 / 7, 1e-7), DoubleNear(6.0 / 7, 1e-7), DoubleNear(1.0 / 3, 1e-7),
                          DoubleNear(2.0 / 3, 1e-7)));
}

TEST(Softmax, ARowThatAMaskFillsIsNaNOrZero) {
  const Tensor s = f32({2}, {1, 2}), mask = f32({2}, {-INFINITY, -INFINITY});
  EXPECT_THAT(evaluated("Softmax", ops::Softmax{}, {s, mask}), ElementsAre(IsNan(), IsNan()));
  EXPECT_THAT(evaluated("Softmax", ops::Softmax{.zero_nan = true}, {s, mask}), ElementsAre(0, 0));
}

}  // namespace

}  // namespace plica
