#include <cmath>

#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::Each;
using testing::HasSubstr;

// Random numbers from 0 to 1, as many as x0 has elements, compared with `bound`; (2, 3) elements of "y".
OneOp compared(const std::string& comparison, float bound, bool random_first = true) {
  OneOp op("RandomUniformLike");
  op.counted({2, 1});
  op.node().set_output(0, "random");
  op.graph().mutable_output(0)->set_name("y");
  auto& bounds = *op.graph().add_initializer() =
      raw_tensor<float>("bounds", proto::TensorProto::FLOAT, {3}, {bound, bound, bound});
  bounds.set_name("bounds");
  if (random_first)
    add_node(op.graph(), comparison, {"random", "bounds"}, {"y"});
  else
    add_node(op.graph(), comparison, {"bounds", "random"}, {"y"});
  return op;
}

TEST(OnnxRandom, WhatHoldsForAllNumbersIsKnown) {
  const Numbers kept = first(compared("GreaterOrEqual", 0));  // a dropout that drops nothing
  EXPECT_EQ(kept.shape, (Shape{2, 3}));
  EXPECT_THAT(kept.values, Each(1));
  EXPECT_THAT(first(compared("Less", 1)).values, Each(1));
  EXPECT_THAT(first(compared("LessOrEqual", 1)).values, Each(1));
  EXPECT_THAT(first(compared("Greater", -0.5f)).values, Each(1));
  EXPECT_THAT(first(compared("Less", 0)).values, Each(0));
  EXPECT_THAT(first(compared("Greater", 1)).values, Each(0));
  EXPECT_THAT(first(compared("GreaterOrEqual", 2)).values, Each(0));
  EXPECT_THAT(first(compared("LessOrEqual", 0, false)).values, Each(1));
  EXPECT_THAT(first(compared("Greater", 1, false)).values, Each(1));
  EXPECT_THAT(first(compared("Less", 1, false)).values, Each(0));
}

TEST(OnnxRandom, WhatHoldsForSomeNumbersIsRefused) {
  for (const char* comparison : {"Greater", "GreaterOrEqual", "Less", "LessOrEqual"})
    EXPECT_THAT(
        error_of(compared(comparison, 0.25f)),
        HasSubstr("from 0.000000 to 1.000000 are compared with 0.250000, wanted a number that decides for all"));
  EXPECT_THAT(error_of(compared("LessOrEqual", 0)), HasSubstr("wanted a number that decides"));
  EXPECT_THAT(error_of(compared("Greater", 0)), HasSubstr("wanted a number that decides"));
}

// A NaN is neither above nor below any of them.
TEST(OnnxRandom, WhatIsNoNumberDecidesNothing) {
  OneOp op = compared("Less", 2);
  auto& bounds = *op.graph().mutable_initializer(0);
  bounds = raw_tensor<float>("bounds", proto::TensorProto::FLOAT, {3}, {2, std::nanf(""), 2});
  EXPECT_THAT(error_of(op), HasSubstr("wanted a number that decides"));
}

TEST(OnnxRandom, NumbersThatAreReadAreRefused) {
  EXPECT_THAT(error_of(OneOp("RandomUniformLike").counted({2})), HasSubstr("are random numbers"));
  EXPECT_THAT(error_of(compared("Mul", 1)), HasSubstr("'random' are random numbers, which are not made here"));
}

TEST(OnnxRandom, BoundsAreApart) {
  for (const float high : {1.0f, 0.5f, std::nanf("")})
    EXPECT_THAT(
        error_of(OneOp("RandomUniform").attr("shape", std::vector<int64_t>{4}).attr("low", 1.0f).attr("high", high)),
        HasSubstr("wanted 'low' below 'high'"));
}

TEST(OnnxRandom, ShapesAndBoundsAreAttributes) {
  OneOp op("RandomUniform");
  op.attr("shape", std::vector<int64_t>{4}).attr("low", 2.0f).attr("high", 3.0f).constant<float>({}, {2});
  op.node().clear_input();
  op.node().set_output(0, "random");
  op.graph().mutable_output(0)->set_name("y");
  add_node(op.graph(), "Less", {"random", "c0"}, {"y"});
  const Numbers y = first(op);
  EXPECT_EQ(y.shape, Shape{4});
  EXPECT_THAT(y.values, Each(0));
}

}  // namespace
}  // namespace plica::onnx
