#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

TEST(OnnxNorm, LayerNormOverTheLastAxesWithMoments) {
  OneOp op("LayerNormalization", 17, 3);
  op.counted({2, 2, 2}).constant<float>({2, 2}, {1, 1, 1, 2}).constant<float>({2, 2}, {0, 0, 0, 1}).attr("axis", 1);
  const auto outputs = op.run();
  ASSERT_TRUE(outputs) << to_string(outputs.error());
  const std::vector<double> row{-1.34164, -0.447214, 0.447214, 3.68328};
  std::vector<double> rows = row;
  rows.insert(rows.end(), row.begin(), row.end());
  EXPECT_THAT(numbers((*outputs)[0]).values, Pointwise(DoubleNear(1e-4), rows));
  EXPECT_THAT(numbers((*outputs)[1]).values, ElementsAre(1.5, 5.5));
  EXPECT_THAT(numbers((*outputs)[1]).shape, ElementsAre(2, 1, 1));
  EXPECT_THAT(numbers((*outputs)[2]).values, testing::Each(DoubleNear(0.894424, 1e-5)));
}

TEST(OnnxNorm, WeightsThatBroadcastOtherwiseAreApart) {
  const Numbers y = first(OneOp("LayerNormalization").counted({2, 2}).constant<float>({2, 1}, {1, 10}));
  EXPECT_THAT(y.values, Pointwise(DoubleNear(1e-3), std::vector<double>{-1, 1, -10, 10}));
}

TEST(OnnxNorm, EpsilonIsTheDecimalNumberOfTheFile) {
  const auto graph =
      OneOp("LayerNormalization").counted({2, 2}).constant<float>({2}, {1, 1}).attr("epsilon", 1e-12f).lower();
  ASSERT_TRUE(graph) << to_string(graph.error());
  const std::vector<NodeId> order = graph->order();
  ASSERT_EQ(order.size(), 1u);
  EXPECT_EQ(to_string(graph->node(order[0]).attrs), "{eps=1e-12}");
}

TEST(OnnxNorm, RmsNorm) {
  const Numbers y = first(OneOp("RMSNormalization", 23).input<float>({1, 2}, {3, 4}).constant<float>({2}, {1, 2}));
  EXPECT_THAT(y.values, Pointwise(DoubleNear(1e-4), std::vector<double>{0.848528, 2.262742}));
}

TEST(OnnxMatMul, VectorsLoseTheirAxis) {
  EXPECT_THAT(first(OneOp("MatMul").counted({3}).counted({3})).shape, ElementsAre());
  EXPECT_THAT(first(OneOp("MatMul").counted({2}).counted({4, 2, 3})).shape, ElementsAre(4, 3));
  EXPECT_THAT(first(OneOp("MatMul").counted({4, 2, 3}).counted({3})).shape, ElementsAre(4, 2));
  EXPECT_THAT(first(OneOp("MatMul").counted({2, 0}).counted({0, 2})).values, ElementsAre(0, 0, 0, 0));
}

TEST(OnnxMatMul, GemmTransposesScalesAndAdds) {
  OneOp op("Gemm");
  op.counted({2, 1}).counted({2, 2}).constant<float>({2}, {1, 2}).attr("transA", 1).attr("transB", 1);
  EXPECT_THAT(first(op.attr("alpha", 2.0f).attr("beta", 0.5f)).values, ElementsAre(2.5, 7));
  EXPECT_THAT(error_of(OneOp("Gemm").counted({2, 1, 1}).counted({1, 1})), testing::HasSubstr("wanted a matrix"));
}

}  // namespace
}  // namespace plica::onnx
