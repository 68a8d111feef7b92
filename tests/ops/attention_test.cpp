#include "ops/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "runtime/core/shape.h"
#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
namespace {

OperandSpec heads(Shape shape, Fill fill = Fill::kUniform) { return {std::move(shape), Layout::kHeads, fill}; }

OperandSpec bool_mask(Shape shape, Layout layout = Layout::kDense) {
  return {.shape = std::move(shape), .layout = layout, .dtype = DType::kBool};
}

OperandSpec offsets(std::vector<double> values) {
  return {.shape = {static_cast<int64_t>(values.size())}, .dtype = DType::kI64, .values = std::move(values)};
}

// Heads of values in [-1, 1] of which some rows are NaN and some infinite.
OperandSpec with_infinite_rows(Shape shape, const std::set<int64_t>& nan, const std::set<int64_t>& infinite) {
  OperandSpec spec = heads(std::move(shape));
  const int64_t width = spec.shape.back(), rows = spec.shape.end()[-2];
  for (int64_t i = 0; i < num_elements(spec.shape); ++i) {
    const int64_t row = i / width % rows;
    const double value = static_cast<double>(i * 7919 % 2001) / 1000 - 1;
    spec.values.push_back(nan.contains(row) ? NAN : infinite.contains(row) ? std::copysign(INFINITY, value) : value);
  }
  return spec;
}

}  // namespace

OpTable attention_cases() {
  const OperandSpec none{.absent = true};
  const ops::Attention op{.scale = 0.25}, filled{.scale = 0.25, .fill = -1e4}, causal{.scale = 0.5, .causal = true};
  const ops::Attention masked{.scale = 0.25, .fill = -INFINITY},
      zeroed{.scale = 0.25, .fill = -INFINITY, .zero_rows = ops::ZeroRows::kMasked};
  const OperandSpec q = heads({2, 3, 9, 16}), k = heads({2, 3, 11, 16}), v = heads({2, 3, 11, 5});
  const OperandSpec square = heads({2, 3, 9, 16});
  return {
      "Attention",
      {
          {"tiny", op, {{{1, 1}}, {{1, 1}}, {{1, 1}}}, kFloats},
          {"odd", op, {{{3, 5, 7}}, {{3, 6, 7}}, {{3, 6, 3}}}, kFloats},
          {"heads", op, {q, k, v}, kFloats},
          {"bias of all rows", op, {q, k, v, {{1, 3, 9, 11}}}, kFloats},
          {"bias in columns", op, {q, k, v, {{3, 9, 11}, Layout::kTransposed}}},
          {"pair bias with its heads last", op, {q, k, v, {{2, 3, 9, 11}, Layout::kHeads}}},
          {"mask of keys", masked, {q, k, v, none, bool_mask({2, 1, 1, 11})}, kFloats},
          {"mask of rows and keys", filled, {q, k, v, {{3, 1, 11}}, bool_mask({9, 11}, Layout::kTransposed)}, kFloats},
          {"additive mask", op, {q, k, v, none, {.shape = {2, 1, 1, 11}, .fill = Fill::kMask}}, kFloats},
          {"rows without keys",
           masked,
           {{{64, 3, 8}}, {{64, 2, 8}}, {{64, 2, 8}}, none, bool_mask({64, 1, 2})},
           kFloats},
          {"rows without keys zeroed",
           zeroed,
           {{{64, 3, 8}}, {{64, 2, 8}}, {{64, 2, 8}}, none, bool_mask({64, 1, 2})},
           kFloats},
          {"gate", op, {q, k, v, none, none, {{2, 3, 9, 5}, Layout::kHeads}}, kFloats},
          {"all operands", filled, {q, k, v, {{3, 9, 11}}, bool_mask({2, 1, 1, 11}), {{2, 3, 9, 5}}}, kFloats},
          {"causal", causal, {square, square, square}, kFloats},
          {"segments", op, {square, square, square, none, none, none, offsets({0, 4, 4, 9})}, kFloats},
          {"segments and bias", op, {square, square, square, {{3, 9, 9}}, none, none, offsets({0, 1, 9})}},
          {"segments beside what is not finite",
           op,
           {square, with_infinite_rows({2, 3, 9, 16}, {8}, {}), with_infinite_rows({2, 3, 9, 5}, {1, 8}, {6}), none,
            none, none, offsets({0, 2, 5, 8})},
           kFloats},
          {"shared keys", op, {{{4, 2, 9, 8}}, {{1, 2, 11, 8}}, {{2, 11, 8}}}},
          {"queries repeated", op, {{{4, 9, 8}, Layout::kRepeated}, {{4, 11, 8}}, {{4, 11, 8}}}},
          {"backwards",
           op,
           {{{2, 9, 8}, Layout::kReversed}, {{2, 11, 8}, Layout::kReversed}, {{2, 11, 8}, Layout::kReversed}}},
          {"columns in memory",
           op,
           {{{2, 9, 8}, Layout::kTransposed}, {{2, 11, 8}, Layout::kTransposed}, {{2, 11, 8}, Layout::kTransposed}}},
          {"no rows", op, {{{2, 0, 8}}, {{2, 3, 8}}, {{2, 3, 8}}}},
          {"no keys", op, {{{2, 3, 8}}, {{2, 0, 8}}, {{2, 0, 8}}}, kFloats},
          {"no heads", op, {{{0, 3, 8}}, {{0, 3, 8}}, {{0, 3, 8}}}},
          {"production",
           op,
           {heads({1, 4, 257, 64}),
            heads({1, 4, 257, 64}),
            heads({1, 4, 257, 64}),
            {{4, 257, 257}},
            bool_mask({1, 1, 1, 257})}},
          {"many heads",
           op,
           {heads({32, 2, 65, 16}), heads({32, 2, 70, 16}), heads({32, 2, 70, 16}), {{2, 65, 70}}},
           {DType::kF16, DType::kBF16}},
          {"width 24", op, {heads({3, 2, 65, 24}), heads({3, 2, 65, 24}), heads({3, 2, 65, 24}), {{2, 65, 65}}}},
      }};
}

namespace {

using ops::Attention;
using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::IsNan;

// Two keys of values (1, 10) and (3, 30); one query that likes the second e^score times more.
std::vector<double> attend(Attention op, double score, Tensor bias = {}, Tensor mask = {}, Tensor gate = {}) {
  const Tensor q = f32({1, 1}, {score}), k = f32({2, 1}, {0, 1}), v = f32({2, 2}, {1, 10, 3, 30});
  return evaluated("Attention", op, {q, k, v, bias, mask, gate});
}

Tensor bools(Shape shape, const std::vector<double>& values) {
  return tensor_of(DType::kBool, std::move(shape), values);
}

TEST(Attention, WeighsValuesBySoftmax) {
  EXPECT_THAT(attend({}, 0), ElementsAre(2, 20));
  EXPECT_THAT(attend({}, std::log(3)), ElementsAre(DoubleNear(2.5, 1e-6), DoubleNear(25, 1e-5)));
  EXPECT_THAT(attend({.scale = 0.5}, 2 * std::log(3)), ElementsAre(DoubleNear(2.5, 1e-6), DoubleNear(25, 1e-5)));
  EXPECT_THAT(attend({}, 0, f32({2}, {std::log(3), 0})), ElementsAre(DoubleNear(1.5, 1e-6), DoubleNear(15, 1e-5)));
  EXPECT_THAT(attend({}, 0, {}, {}, f32({1}, {0})), ElementsAre(1, 10));
}

TEST(Attention, MasksByFillOrByAddition) {
  EXPECT_THAT(attend({.fill = -INFINITY}, 5, {}, bools({2}, {1, 0})), ElementsAre(1, 10));
  EXPECT_THAT(attend({}, 5, {}, f32({2}, {-INFINITY, 0})), ElementsAre(3, 30));
  EXPECT_THAT(attend({.fill = 5}, 5, {}, bools({2}, {0, 1})), ElementsAre(2, 20));
}

TEST(Attention, GivesTheArithmeticsResultWhereAllKeysAreMasked) {
  const Tensor none = bools({2}, {0, 0});
  EXPECT_THAT(attend({.fill = -INFINITY}, 5, {}, none), Each(IsNan()));
  EXPECT_THAT(attend({.fill = -1e9}, 5, {}, none), ElementsAre(2, 20));
  EXPECT_THAT(attend({.fill = -INFINITY, .zero_rows = ops::ZeroRows::kMasked}, 5, {}, none), ElementsAre(0, 0));
}

TEST(Attention, SeesEarlierKeysOrItsOwnSegment) {
  const Tensor q = f32({3, 1}, {0, 0, 0}), v = f32({3, 1}, {1, 3, 8});
  EXPECT_THAT(evaluated("Attention", Attention{.causal = true}, {q, q, v}), ElementsAre(1, 2, 4));
  EXPECT_THAT(evaluated("Attention", Attention{}, {q, q, v, {}, {}, {}, i64({3}, {0, 2, 3})}), ElementsAre(2, 2, 8));
  EXPECT_EQ(refused("Attention", Attention{}, {q, q, v, {}, {}, {}, i64({3}, {0, 2, 4})}),
            "invalid input: Attention: segment offset 4, wanted one in [-3, 3)");
}

TEST(Attention, RefusesOperandsThatDoNotFit) {
  const TensorType q{DType::kF32, {2, 3, 4}, {}}, k{DType::kF32, {5, 4}, {}}, v{DType::kF32, {6, 4}, {}};
  EXPECT_EQ(inferred("Attention", Attention{}, {q, k, k}), "f32 2x3x4");
  EXPECT_EQ(inferred("Attention", Attention{}, {q, k, v}),
            "invalid model: Attention: q is 2x3x4, k is 5x4 and v is 6x4, wanted one width of q and k, one length of k "
            "and v");
  EXPECT_EQ(inferred("Attention", Attention{}, {q, k, k, {DType::kF32, {3, 6}, {}}}),
            "invalid model: Attention: bias is 3x6, wanted a shape that broadcasts to 2x3x5");
}

}  // namespace

}  // namespace plica
