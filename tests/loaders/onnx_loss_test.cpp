#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

OneOp loss(const std::string& reduction) {
  return OneOp("NegativeLogLikelihoodLoss")
      .input<float>({2, 3}, {-1, -2, -3, -4, -5, -6})
      .input<int64_t>({2}, {2, 0})
      .input<float>({3}, {1, 1, 3})
      .attr("reduction", reduction);
}

TEST(OnnxLoss, LikelihoodReduced) {
  EXPECT_THAT(first(loss("none")).values, ElementsAre(9, 4));
  EXPECT_THAT(first(loss("sum")).values, ElementsAre(13));
  EXPECT_THAT(first(loss("mean")).values, ElementsAre(3.25));
}

TEST(OnnxLoss, IgnoredTargetsCountNowhere) {
  EXPECT_THAT(first(loss("none").attr("ignore_index", int64_t{2})).values, ElementsAre(0, 4));
  EXPECT_THAT(first(loss("mean").attr("ignore_index", int64_t{2})).values, ElementsAre(4));
}

TEST(OnnxLoss, CrossEntropyTakesTheSoftmaxOverAxisOne) {
  auto op = OneOp("SoftmaxCrossEntropyLoss", 17, 2).input<float>({1, 2, 1}, {0, 1}).input<int64_t>({1, 1}, {1});
  const auto outputs = op.run();
  ASSERT_TRUE(outputs) << to_string(outputs.error());
  const double wanted = std::log1p(std::exp(-1.0));
  EXPECT_THAT(numbers((*outputs)[0]).values, ElementsAre(DoubleNear(wanted, 1e-6)));
  EXPECT_THAT(numbers((*outputs)[1]).values, ElementsAre(DoubleNear(-1 - wanted, 1e-6), DoubleNear(-wanted, 1e-6)));
}

}  // namespace
}  // namespace plica::onnx
