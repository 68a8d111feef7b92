#include "ops/mat_mul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op.h"
#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable mat_mul_cases() {
  using ops::Activation;
  const ops::MatMul op;
  const OperandSpec none{.absent = true};
  std::vector<OpCase> cases = {
      {"tiny", op, {{{1, 1}}, {{1, 1}}}, kFloats},
      {"odd", op, {{{5, 7}}, {{7, 3}}}, kFloats},
      {"integers", op, {{{3, 4}}, {{4, 5}}}, {DType::kI8, DType::kU8, DType::kI32, DType::kI64, DType::kU64}},
      {"batches", op, {{{4, 3, 9, 17}}, {{4, 3, 17, 21}}}, kFloats},
      {"batches that broadcast", op, {{{4, 1, 9, 17}}, {{3, 17, 21}}}},
      {"weights",
       op,
       {{{3, 5, 24}}, {.shape = {24, 33}, .constant = true}, {.shape = {33}, .constant = true}},
       kFloats},
      {"weights in columns",
       op,
       {{{2, 31, 24}}, {.shape = {24, 40}, .layout = Layout::kTransposed, .constant = true}, {{40}}}},
      {"columns in memory", op, {{{50, 24}, Layout::kTransposed}, {{24, 33}, Layout::kTransposed}}, kFloats},
      {"heads", op, {{{2, 3, 9, 16}, Layout::kHeads}, {{2, 3, 16, 11}, Layout::kHeads}}, kFloats},
      {"rows apart", op, {{{9, 16}, Layout::kGapped}, {{16, 11}, Layout::kGapped}}},
      {"backwards", op, {{{9, 16}, Layout::kReversed}, {{16, 11}, Layout::kReversed}}, kFloats},
      {"repeated", op, {{{9, 16}, Layout::kRepeated}, {{16, 11}, Layout::kRepeated}, {{11}}}},
      {"no rows", op, {{{0, 24}}, {{24, 33}}}},
      {"no columns", op, {{{3, 24}}, {{24, 0}}, {{0}}}},
      {"no depth", op, {{{5, 0}}, {{0, 33}}, {{33}}}, kFloats},
      {"scaled", ops::MatMul{.alpha = 0.125}, {{{1, 33, 64}}, {{64, 33}}, none, none, {{1, 33, 33}}}, kFloats},
      {"epilogue that broadcasts", op, {{{2, 31, 24}}, {{24, 40}}, {{40}}, {{31, 1}}, {{2, 1, 40}}}},
      {"epilogue in columns",
       op,
       {{{31, 24}},
        {{24, 40}},
        {{40}, Layout::kReversed},
        {{31, 40}, Layout::kTransposed},
        {{31, 40}, Layout::kTransposed}}},
      {"few columns", op, {{{2, 33, 64}}, {{64, 5}}, {{5}}}, kFloats},
      {"few columns, many rows", ops::MatMul{.alpha = 0.5}, {{{3, 6000, 24}}, {{24, 8}, Layout::kTransposed}}},
      {"a tile's edge", ops::MatMul{.activation = Activation::kGelu}, {{{2, 67, 72}}, {{72, 136}}, {{136}}}, kFloats},
      {"heads by one matrix", op, {{{2, 3, 50, 64}, Layout::kHeads}, {{64, 72}}, none, none, {{3, 50, 72}}}, kFloats},
      {"a depth in parts",
       ops::MatMul{.alpha = 0.25, .activation = Activation::kSilu},
       {{{70, 1304}}, {.shape = {1304, 320}, .constant = true}, {{320}}, none, {{70, 320}}},
       kFloats},
      {"many rows, an activation that a library lacks",
       ops::MatMul{.activation = Activation::kGelu},
       {{{2, 97, 8}}, {.shape = {8, 3976}, .constant = true}, {.shape = {3976}, .constant = true}},
       {DType::kBF16}},
      {"few rows by a matrix of many columns",
       ops::MatMul{.activation = Activation::kGelu},
       {{{113, 8}}, {.shape = {8, 1992}, .constant = true}, {.shape = {1992}, .constant = true}},
       {DType::kBF16}},
      {"three products in tf32", op, {{{2, 31, 24}}, {{24, 40}}, {{40}}}, {DType::kF32}, 1, Precision::kTf32x3},
      {"three products in tf32, tile by tile", op, {{{8450, 132}}, {{132, 72}}}, {DType::kF32}, 4, Precision::kTf32x3},
      {"production", op, {{{257, 640}}, {.shape = {640, 321}, .constant = true}, {{321}}, none, {{257, 321}}}},
  };
  return {"MatMul", std::move(cases)};
}

namespace {

using testing::DoubleNear;
using testing::ElementsAre;

const auto kA = [] { return f32({2, 2}, {1, 2, 3, 4}); };
const auto kB = [] { return f32({2, 2}, {5, 6, 7, 8}); };

// A table of its own: with the operator's, it would take tools that watch every access to memory too long.
TEST(KernelsOfMatMul, Activations) {
  using ops::Activation;
  OpTable table{.op = "MatMul", .every_kernel = false};
  for (Activation activation : {Activation::kRelu, Activation::kGelu, Activation::kGeluTanh, Activation::kSilu,
                                Activation::kSigmoid, Activation::kTanh})
    table.cases.push_back({std::string(names_of(activation)[static_cast<size_t>(activation)]),
                           ops::MatMul{.alpha = 0.5, .activation = activation, .gate_sigmoid = true},
                           {{{2, 9, 24}}, {{24, 40}}, {{40}}, {{2, 9, 40}}, {{2, 9, 40}}},
                           kFloats});
  expect_kernels_agree(table);
}

TEST(MatMul, MultipliesRowsByColumns) {
  EXPECT_THAT(evaluated("MatMul", ops::MatMul{}, {kA(), kB()}), ElementsAre(19, 22, 43, 50));
  EXPECT_THAT(evaluated("MatMul", ops::MatMul{}, {f32({2, 1, 1}, {2, 3}), f32({1, 2}, {10, 20})}),
              ElementsAre(20, 40, 30, 60));
  EXPECT_THAT(evaluated("MatMul", ops::MatMul{}, {f32({1, 0}, {}), f32({0, 2}, {}), f32({2}, {3, 4})}),
              ElementsAre(3, 4));
}

TEST(MatMul, AppliesTheEpilogueInOrder) {
  const Tensor bias = f32({2}, {-20, 1}), gate = f32({2, 1}, {2, 0}), residual = f32({1}, {100});
  const ops::MatMul relu{.alpha = 1, .activation = ops::Activation::kRelu};
  EXPECT_THAT(evaluated("MatMul", relu, {kA(), kB(), bias, gate, residual}), ElementsAre(100, 146, 100, 100));
  const ops::MatMul gated{.alpha = 0.5, .gate_sigmoid = true};
  EXPECT_THAT(evaluated("MatMul", gated, {kA(), kB(), {}, f32({}, {0})}), ElementsAre(4.75, 5.5, 10.75, 12.5));
  const ops::MatMul gelu{.alpha = 0, .activation = ops::Activation::kGelu};
  EXPECT_THAT(evaluated("MatMul", gelu, {f32({1, 1}, {0}), f32({1, 1}, {0}), f32({1}, {1})}),
              ElementsAre(DoubleNear(0.8413447, 1e-6)));
}

TEST(MatMul, WrapsIntegers) {
  const Tensor a = tensor_of(DType::kI8, {1, 2}, {100, 1}), b = tensor_of(DType::kI8, {2, 1}, {2, 3});
  EXPECT_THAT(evaluated("MatMul", ops::MatMul{}, {a, b}), ElementsAre(203 - 256));
}

TEST(MatMul, TakesIntegersWithoutScaleAndActivation) {
  const TensorType a{DType::kI32, {2, 2}, {}};
  EXPECT_EQ(inferred("MatMul", ops::MatMul{}, {a, a}), "i32 2x2");
  EXPECT_EQ(inferred("MatMul", ops::MatMul{.alpha = 0.5}, {a, a}),
            "invalid model: MatMul with a scale, activation or sigmoid: a is i32, wanted f32, f64, f16 or bf16");
}

TEST(MatMul, RefusesShapesThatDoNotFit) {
  const TensorType a{DType::kF32, {2, 3}, {}}, b{DType::kF32, {4, 2}, {}}, one{DType::kF32, {3}, {}};
  EXPECT_EQ(inferred("MatMul", ops::MatMul{}, {a, b}),
            "invalid model: MatMul: a is 2x3 and b is 4x2, wanted equal inner sizes");
  EXPECT_EQ(inferred("MatMul", ops::MatMul{}, {a, one}), "invalid model: MatMul: b is 3, wanted rank 2 or more");
  EXPECT_EQ(inferred("MatMul", ops::MatMul{}, {{DType::kF32, {5, 1, 2, 4}, {}}, {DType::kF32, {7, 4, 2}, {}}}),
            "f32 5x7x2x2");
}

TEST(MatMul, CountsItsGelu) {
  StructureCounts counts;
  const ops::MatMul gelu{.alpha = 1, .activation = ops::Activation::kGelu}, plain;
  mat_mul_op.structures(&plain, counts);
  EXPECT_TRUE(counts.empty());
  mat_mul_op.structures(&gelu, counts);
  EXPECT_THAT(counts, ElementsAre(testing::Pair("gelu", 1)));
}

}  // namespace

}  // namespace plica
