#include <cmath>
#include <limits>

#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(OnnxReduce, AxesComeAsAttributeOrOperand) {
  EXPECT_THAT(first(OneOp("ReduceSum", 11).counted({2, 2}).attr("axes", std::vector<int64_t>{0})).values,
              ElementsAre(2, 4));
  EXPECT_THAT(first(OneOp("ReduceSum").counted({2, 2}).ints({-1}).attr("keepdims", int64_t{0})).shape, ElementsAre(2));
  EXPECT_THAT(first(OneOp("ReduceMean", 18).counted({2, 2}).ints({1})).values, ElementsAre(0.5, 2.5));
}

TEST(OnnxReduce, NoAxesAreAllOrNone) {
  EXPECT_THAT(first(OneOp("ReduceMax").counted({2, 2})).shape, ElementsAre(1, 1));
  EXPECT_THAT(first(OneOp("ReduceSum").counted({2}).attr("noop_with_empty_axes", 1)).values, ElementsAre(0, 1));
  EXPECT_THAT(first(OneOp("ReduceSum").counted({2}).ints({})).values, ElementsAre(1));
}

TEST(OnnxReduce, Composites) {
  EXPECT_THAT(first(OneOp("ReduceL1", 18).counted({3}, -1)).values, ElementsAre(3));
  EXPECT_THAT(first(OneOp("ReduceL2", 18).input<float>({2}, {3, 4})).values, ElementsAre(5));
  EXPECT_THAT(first(OneOp("ReduceSumSquare", 18).counted({3})).values, ElementsAre(5));
  EXPECT_THAT(first(OneOp("ReduceLogSum", 18).input<float>({2}, {1, 1})).values,
              ElementsAre(DoubleNear(std::log(2.0), 1e-6)));
  EXPECT_THAT(first(OneOp("ReduceLogSumExp", 18).input<float>({2}, {1000, 1000})).values,
              ElementsAre(DoubleNear(1000 + std::log(2.0), 1e-3)));
}

TEST(OnnxReduce, LogSumExpOfNothingButMinusInfinityIsMinusInfinity) {
  const float none = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(first(OneOp("ReduceLogSumExp", 18).input<float>({2}, {none, none})).values, ElementsAre(none));
}

TEST(OnnxReduce, ArgMaxTakesTheFirstOrTheLast) {
  EXPECT_THAT(first(OneOp("ArgMax").input<float>({3}, {2, 1, 2})).values, ElementsAre(0));
  EXPECT_THAT(first(OneOp("ArgMax").input<float>({3}, {2, 1, 2}).attr("select_last_index", 1)).values, ElementsAre(2));
  EXPECT_THAT(first(OneOp("ArgMin").counted({2, 3}).attr("axis", -1).attr("keepdims", int64_t{0})).shape,
              ElementsAre(2));
}

TEST(OnnxReduce, CumSum) {
  EXPECT_THAT(first(OneOp("CumSum").counted({3}).constant<int64_t>({}, {0})).values, ElementsAre(0, 1, 3));
  EXPECT_THAT(
      first(OneOp("CumSum").counted({3}).constant<int32_t>({}, {-1}).attr("exclusive", 1).attr("reverse", 1)).values,
      ElementsAre(3, 2, 0));
}

TEST(OnnxSoftmax, FlattensBeforeVersionThirteen) {
  const Numbers flat = first(OneOp("Softmax", 11).counted({1, 2, 2}, 0));
  EXPECT_THAT(flat.values, ElementsAre(0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(flat.shape, ElementsAre(1, 2, 2));
  EXPECT_THAT(first(OneOp("Softmax", 13).counted({1, 2, 2}, 0)).values, ElementsAre(0.5, 0.5, 0.5, 0.5));
}

TEST(OnnxSoftmax, AnyAxis) {
  EXPECT_THAT(first(OneOp("Softmax").input<float>({3, 2}, std::vector<float>(6, 1)).attr("axis", int64_t{0})).values,
              testing::Each(DoubleNear(1.0 / 3, 1e-6)));
  EXPECT_THAT(first(OneOp("LogSoftmax").counted({1, 2}, 0)).values, testing::Each(DoubleNear(-std::log(2.0), 1e-6)));
  EXPECT_THAT(first(OneOp("Hardmax").input<float>({4}, {1, 3, 3, 2})).values, ElementsAre(0, 1, 0, 0));
}

}  // namespace
}  // namespace plica::onnx
