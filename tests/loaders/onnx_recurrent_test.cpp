#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

auto near(std::vector<double> wanted) { return Pointwise(DoubleNear(1e-5), wanted); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// X (2, 1, 1) = 1, 2; one hidden unit; W of each gate 0.5, R of each gate 0.25.
OneOp cell(const std::string& type, int64_t gates, size_t num_outputs = 1) {
  return OneOp(type, 17, num_outputs)
      .input<float>({2, 1, 1}, {1, 2})
      .input<float>({1, gates, 1}, std::vector<float>(static_cast<size_t>(gates), 0.5f))
      .input<float>({1, gates, 1}, std::vector<float>(static_cast<size_t>(gates), 0.25f))
      .attr("hidden_size", int64_t{1});
}

TEST(OnnxRecurrent, Rnn) {
  const double one = std::tanh(0.5), two = std::tanh(1 + 0.25 * one);
  EXPECT_THAT(first(cell("RNN", 1)).values, near({one, two}));
  const double last = std::tanh(1.0), before = std::tanh(0.5 + 0.25 * last);
  EXPECT_THAT(first(cell("RNN", 1).attr("direction", "reverse")).values, near({before, last}));
}

TEST(OnnxRecurrent, Gru) {
  const auto step = [](double x, double h, bool linear) {
    const double z = sigmoid(0.5 * x + 0.25 * h), r = z;
    const double c = std::tanh(0.5 * x + (linear ? r * (0.25 * h) : 0.25 * (r * h)));
    return (1 - z) * c + z * h;
  };
  EXPECT_THAT(first(cell("GRU", 3)).values, near({step(1, 0, false), step(2, step(1, 0, false), false)}));
  EXPECT_THAT(first(cell("GRU", 3).attr("linear_before_reset", int64_t{1})).values,
              near({step(1, 0, true), step(2, step(1, 0, true), true)}));
}

TEST(OnnxRecurrent, LstmGivesItsStates) {
  double h = 0, c = 0;
  for (const double x : {1.0, 2.0}) {
    const double gate = sigmoid(0.5 * x + 0.25 * h);
    c = gate * c + gate * std::tanh(0.5 * x + 0.25 * h);
    h = gate * std::tanh(c);
  }
  auto op = cell("LSTM", 4, 3);
  const auto outputs = op.run();
  ASSERT_TRUE(outputs) << to_string(outputs.error());
  EXPECT_THAT(numbers((*outputs)[0]).shape, ElementsAre(2, 1, 1, 1));
  EXPECT_THAT(numbers((*outputs)[1]).values, near({h}));
  EXPECT_THAT(numbers((*outputs)[2]).values, near({c}));
}

TEST(OnnxRecurrent, ShortSequencesEndInZeros) {
  auto op = cell("RNN", 1, 2).absent().input<int32_t>({1}, {1});
  const auto outputs = op.run();
  ASSERT_TRUE(outputs) << to_string(outputs.error());
  EXPECT_THAT(numbers((*outputs)[0]).values, near({std::tanh(0.5), 0}));
  EXPECT_THAT(numbers((*outputs)[1]).values, near({std::tanh(0.5)}));
}

TEST(OnnxRecurrent, RefusesWhatItDoesNotCompute) {
  EXPECT_THAT(error_of(cell("RNN", 1).attr("clip", 1.0f)), HasSubstr("attribute 'clip'"));
  auto op = cell("RNN", 1);
  add_attribute(op.node(), "activations", proto::AttributeProto::STRINGS).add_strings("Affine");
  EXPECT_THAT(error_of(op), HasSubstr("activation 'Affine', wanted Sigmoid, Tanh or Relu"));
}

}  // namespace
}  // namespace plica::onnx
