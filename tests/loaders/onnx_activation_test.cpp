#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

// f(-2), f(-0.25), f(0), f(0.5), f(3)
std::vector<double> curve(OneOp op) { return first(op.input<float>({5}, {-2, -0.25f, 0, 0.5f, 3})).values; }

auto near(std::vector<double> wanted) { return Pointwise(DoubleNear(1e-6), wanted); }

TEST(OnnxActivation, BelowZero) {
  EXPECT_THAT(curve(OneOp("LeakyRelu").attr("alpha", 0.5f)), near({-1, -0.125, 0, 0.5, 3}));
  EXPECT_THAT(curve(OneOp("Elu")), near({std::exp(-2.0) - 1, std::exp(-0.25) - 1, 0, 0.5, 3}));
  EXPECT_THAT(curve(OneOp("Celu").attr("alpha", 2.0f)),
              near({2 * (std::exp(-1.0) - 1), 2 * (std::exp(-0.125) - 1), 0, 0.5, 3}));
  constexpr double kAlpha = 1.6732632423543772, kGamma = 1.0507009873554805;
  EXPECT_THAT(curve(OneOp("Selu")), near({kGamma * kAlpha * (std::exp(-2.0) - 1),
                                          kGamma * kAlpha * (std::exp(-0.25) - 1), 0, kGamma * 0.5, kGamma * 3}));
}

TEST(OnnxActivation, Straight) {
  EXPECT_THAT(curve(OneOp("HardSigmoid")), near({0.1, 0.45, 0.5, 0.6, 1}));
  EXPECT_THAT(curve(OneOp("HardSwish")), near({-1.0 / 3, -0.25 * (0.5 - 0.25 / 6), 0, 0.5 * (0.5 + 0.5 / 6), 3}));
  EXPECT_THAT(curve(OneOp("Shrink").attr("bias", 0.25f)), near({-1.75, 0, 0, 0, 2.75}));
  EXPECT_THAT(curve(OneOp("ThresholdedRelu").attr("alpha", 0.5f)), near({0, 0, 0, 0, 3}));
}

TEST(OnnxActivation, Smooth) {
  EXPECT_THAT(curve(OneOp("Softsign")), near({-2.0 / 3, -0.2, 0, 1.0 / 3, 0.75}));
  const auto mish = [](double x) { return x * std::tanh(std::log1p(std::exp(x))); };
  EXPECT_THAT(curve(OneOp("Mish", 18)), near({mish(-2), mish(-0.25), 0, mish(0.5), mish(3)}));
}

TEST(OnnxActivation, SlopesBroadcast) {
  EXPECT_THAT(first(OneOp("PRelu").input<float>({2, 2}, {-1, 2, -3, -4}).input<float>({2}, {0.5f, 2})).values,
              ElementsAre(-0.5, 2, -1.5, -8));
}

}  // namespace
}  // namespace plica::onnx
