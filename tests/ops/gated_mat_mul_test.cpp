#include "ops/gated_mat_mul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <map>

#include "ops/op.h"
#include "runtime/core/shape.h"
#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
namespace {

using Op = ops::GatedMatMul;
using ops::Activation;

const OperandSpec kNone{.absent = true};

OperandSpec weight(Shape shape) { return {.shape = std::move(shape), .constant = true}; }

// value, gate and their biases.
std::vector<OperandSpec> gated(OperandSpec a, int64_t columns, OperandSpec mask = kNone) {
  const int64_t depth = a.shape.back();
  return {a, weight({columns, depth}), weight({columns, depth}), weight({columns}), weight({columns}), mask};
}

// A gate that reads b; both normalised where `normed`.
std::vector<OperandSpec> gated_by(OperandSpec a, OperandSpec b, int64_t columns, bool normed) {
  const int64_t depth = a.shape.back(), gate_depth = b.shape.back();
  Shape y = a.shape;
  y.back() = columns;
  const auto vector = [&](int64_t size) { return normed ? weight({size}) : kNone; };
  return {a,
          weight({columns, depth}),
          weight({columns, gate_depth}),
          weight({columns}),
          weight({columns}),
          kNone,
          b,
          vector(depth),
          vector(depth),
          vector(gate_depth),
          vector(gate_depth),
          {y}};
}

// Values in [-1, 1] but for those at some places in row-major order.
OperandSpec poisoned(OperandSpec spec, const std::map<int64_t, double>& at) {
  for (int64_t i = 0; i < num_elements(spec.shape); ++i) {
    const auto found = at.find(i);
    spec.values.push_back(found != at.end() ? found->second : static_cast<double>(i * 7919 % 2001) / 1000 - 1);
  }
  return spec;
}

// NaN, infinities and, in fp32, the least number in a row of a or of b, or in one of two columns that share an inverse.
void add_what_is_not_finite(std::vector<OpCase>& cases) {
  const auto at = [](int64_t row, int64_t k) { return row * 64 + k; };
  std::vector<OperandSpec> sources = gated_by({{90, 64}}, {{90, 64}}, 64, false), weights = sources;
  sources[Op::kA] = poisoned(sources[Op::kA], {{at(7, 3), NAN}, {at(21, 40), INFINITY}, {at(70, 0), -INFINITY}});
  sources[Op::kB] = poisoned(sources[Op::kB], {{at(3, 63), NAN}, {at(33, 9), INFINITY}, {at(80, 31), -INFINITY}});
  weights[Op::kValue] = poisoned(weights[Op::kValue], {{at(2, 5), NAN}, {at(31, 6), INFINITY}});
  weights[Op::kGate] = poisoned(weights[Op::kGate], {{at(8, 5), NAN}, {at(13, 6), NAN}, {at(40, 7), -INFINITY}});
  weights[Op::kGateBias] = poisoned(weights[Op::kGateBias], {{21, NAN}, {50, INFINITY}, {53, -INFINITY}});
  for (const auto& [name, in] : {std::pair{"sources", sources}, std::pair{"weights", weights}})
    cases.push_back({std::string(name) + " that are not finite", Op{}, in, kFloats});
  sources[Op::kA].values[at(50, 11)] = sources[Op::kB].values[at(60, 12)] = -FLT_MAX;
  weights[Op::kValue].values[at(4, 8)] = weights[Op::kGate].values[at(57, 9)] = -FLT_MAX;
  for (const auto& [name, in] : {std::pair{"sources", sources}, std::pair{"weights", weights}})
    cases.push_back(
        {std::string("tf32x3, ") + name + " that are not finite", Op{}, in, {DType::kF32}, 2, Precision::kTf32x3});
}

}  // namespace

OpTable gated_mat_mul_cases() {
  const std::vector<DType> shorts = {DType::kF16, DType::kBF16};
  std::vector<OpCase> cases = {
      {"tiny", Op{}, {{{1, 1}}, {{1, 1}}, {{1, 1}}}, kFloats},
      {"odd", Op{}, gated({{2, 5, 7}}, 3, {{2, 5, 1}}), kFloats},
      {"no rows", Op{}, gated({{0, 64}}, 8)},
      {"no columns", Op{}, gated({{3, 64}}, 0)},
      {"no depth", Op{}, gated({{3, 0}}, 8)},
      {"normed", Op{}, gated_by({{2, 9, 5}}, {{2, 9, 3}}, 4, true), kFloats},
      {"weights in columns",
       Op{},
       {{{31, 64}},
        {.shape = {40, 64}, .layout = Layout::kTransposed, .constant = true},
        {.shape = {40, 64}, .layout = Layout::kTransposed, .constant = true}},
       kFloats},
      {"projections", Op{}, gated({{3, 70, 64}}, 136, {{3, 70, 1}}), shorts},
      {"projections of 128", Op{}, gated({{2, 3, 72, 128}}, 256, {{2, 3, 72, 1}}), shorts},
      {"projections of 256", Op{}, gated({{200, 256}}, 72), shorts},
      {"a depth that is padded", Op{}, gated({{130, 72}}, 24, {{1}}), shorts},
      {"columns of two blocks", Op{}, gated({{90, 64}}, 712), shorts},
      {"out", Op{}, gated_by({{3, 47, 64}}, {{3, 47, 64}}, 64, false), shorts},
      {"out, normed", Op{}, gated_by({{2, 90, 128}}, {{2, 90, 128}}, 128, true), shorts, 2},
      {"out, channels first", Op{}, gated_by({{2, 136, 128}, Layout::kTransposed}, {{2, 136, 128}}, 128, true), shorts,
       2},
      {"one norm for both",
       Op{},
       {{{65, 128}}, weight({64, 128}), weight({64, 128}), kNone, kNone, kNone, kNone, weight({128}), weight({128})},
       shorts,
       2},
      {"tf32", Op{}, gated({{3, 70, 128}}, 136, {{3, 70, 1}}), {DType::kF32}, 300, Precision::kTf32},
      {"tf32, out", Op{}, gated_by({{2, 90, 128}}, {{2, 90, 128}}, 128, false), {DType::kF32}, 300, Precision::kTf32},
      {"tf32x3", Op{}, gated({{3, 70, 128}}, 136, {{3, 70, 1}}), {DType::kF32}, 2, Precision::kTf32x3},
      {"tf32x3, a depth that is padded", Op{}, gated({{130, 72}}, 24, {{1}}), {DType::kF32}, 2, Precision::kTf32x3},
      {"tf32x3, out",
       Op{},
       gated_by({{2, 136, 128}, Layout::kTransposed}, {{2, 136, 128}}, 128, true),
       {DType::kF32},
       2,
       Precision::kTf32x3},
      {"production", Op{}, gated({{1, 64, 67, 128}}, 256, {{1, 64, 67, 1}}), {DType::kBF16}},
  };
  for (Activation activation : {Activation::kNone, Activation::kRelu, Activation::kGelu, Activation::kGeluTanh,
                                Activation::kSilu, Activation::kTanh})
    cases.push_back({std::string(names_of(activation)[static_cast<size_t>(activation)]), Op{.activation = activation},
                     gated({{33, 64}}, 72), kFloats});
  std::vector<OperandSpec> far = gated({{70, 64}}, 64);  // one of two neighbours, both, and those of the other half
  far[Op::kGateBias] = poisoned(far[Op::kGateBias], {{3, -90}, {8, -60}, {9, -60}, {20, -130}, {21, 130}, {40, 90}});
  cases.push_back({"gates far from 0", Op{}, far, kFloats});
  add_what_is_not_finite(cases);
  return {"GatedMatMul", std::move(cases)};
}

namespace {

using testing::DoubleNear;
using testing::ElementsAre;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(GatedMatMul, MultipliesAProjectionByItsGate) {
  const Tensor a = f32({2, 2}, {1, 2, 3, 4}), value = f32({1, 2}, {10, 1}), gate = f32({1, 2}, {0, 1});
  const Tensor value_bias = f32({1}, {100}), gate_bias = f32({1}, {-2}), mask = f32({2, 1}, {1, 0.5});
  EXPECT_THAT(evaluated("GatedMatMul", Op{}, {a, value, gate, value_bias, gate_bias, mask}),
              ElementsAre(DoubleNear(112 * 0.5, 1e-5), DoubleNear(134 * 0.5 * sigmoid(2), 1e-5)));
  EXPECT_THAT(evaluated("GatedMatMul", Op{.activation = Activation::kRelu}, {a, value, gate, {}, gate_bias}),
              ElementsAre(0, 68));
}

TEST(GatedMatMul, TakesTheGateFromAnotherSource) {
  const Tensor a = f32({1, 1}, {3}), value = f32({1, 1}, {2}), gate = f32({1, 2}, {1, 1});
  const Tensor b = f32({1, 2}, {5, 7}), residual = f32({1, 1}, {1000});
  EXPECT_THAT(evaluated("GatedMatMul", Op{.activation = Activation::kNone},
                        {a, value, gate, {}, {}, {}, b, {}, {}, {}, {}, residual}),
              ElementsAre(1072));
}

TEST(GatedMatMul, NormalisesItsSources) {
  const Tensor a = f32({1, 2}, {1, 3}), unit = f32({2, 2}, {1, 0, 0, 1}), beta = f32({2}, {10, 20});
  const Tensor gamma = f32({2}, {1, 2}), b = f32({1, 2}, {-2, 2});
  // norm(a) = (-1, 1), norm(b) = (-1, 1)
  EXPECT_THAT(evaluated("GatedMatMul", Op{.activation = Activation::kNone, .eps = 0, .gate_eps = 0},
                        {a, unit, unit, {}, {}, {}, b, gamma, beta, gamma}),
              ElementsAre(DoubleNear(-9, 1e-5), DoubleNear(44, 1e-5)));
}

TEST(GatedMatMul, RefusesShapesThatDoNotFit) {
  const auto type = [](Shape shape) { return TensorType{DType::kF32, std::move(shape), {}}; };
  EXPECT_EQ(inferred("GatedMatMul", Op{}, {type({2, 3, 4}), type({5, 4}), type({5, 4})}), "f32 2x3x5");
  EXPECT_EQ(inferred("GatedMatMul", Op{}, {type({2, 4}), type({5, 4}), type({6, 4})}),
            "invalid model: GatedMatMul: gate is 6x4, wanted 5x4");
  EXPECT_EQ(inferred("GatedMatMul", Op{}, {type({2, 4}), type({5, 3}), type({5, 4})}),
            "invalid model: GatedMatMul: value is 5x3, wanted 5x4");
}

}  // namespace
}  // namespace plica
