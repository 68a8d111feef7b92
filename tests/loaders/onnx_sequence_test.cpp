#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// x (4) split into pieces of 3 and 1; what the test adds works on "pieces" and makes "y".
OneOp pieces() {
  OneOp op("SplitToSequence");
  op.counted({4}).ints({3, 1});
  op.node().set_output(0, "pieces");
  op.graph().mutable_output(0)->set_name("y");
  auto& place = *op.graph().add_initializer() = raw_tensor<int64_t>("last", proto::TensorProto::INT64, {}, {-1});
  place.set_name("last");
  return op;
}

TEST(OnnxSequence, ElementsByPosition) {
  OneOp op = pieces();
  add_node(op.graph(), "SequenceAt", {"pieces", "last"}, {"y"});
  EXPECT_THAT(first(op).values, ElementsAre(3));
  OneOp beyond = pieces();
  add_node(beyond.graph(), "SequenceErase", {"pieces"}, {"one"});
  add_node(beyond.graph(), "SequenceErase", {"one"}, {"none"});
  add_node(beyond.graph(), "SequenceAt", {"none", "last"}, {"y"});
  EXPECT_THAT(error_of(beyond), HasSubstr("position -1 in a sequence of 0 elements"));
}

TEST(OnnxSequence, InsertedErasedCounted) {
  OneOp op = pieces();
  add_node(op.graph(), "SequenceInsert", {"pieces", "x0", "last"}, {"three"});
  auto& concat = add_node(op.graph(), "ConcatFromSequence", {"three"}, {"y"});
  add_int(concat, "axis", 0);
  EXPECT_THAT(first(op).values, ElementsAre(0, 1, 2, 0, 1, 2, 3, 3));
  OneOp counted = pieces();
  add_node(counted.graph(), "SequenceErase", {"pieces", "last"}, {"one"});
  add_node(counted.graph(), "SequenceLength", {"one"}, {"y"});
  EXPECT_THAT(first(counted).values, ElementsAre(1));
}

TEST(OnnxSequence, TensorsAreNoSequences) {
  EXPECT_THAT(error_of(OneOp("SequenceLength").counted({2})), HasSubstr("operand 0 is a tensor, wanted a sequence"));
  OneOp output = pieces();
  output.graph().mutable_output(0)->set_name("pieces");
  EXPECT_THAT(error_of(output), HasSubstr("output 'pieces' is a sequence, wanted a tensor"));
}

TEST(OnnxSequence, Optionals) {
  EXPECT_THAT(first(OneOp("OptionalGetElement", 18).counted({2})).values, ElementsAre(0, 1));
  EXPECT_THAT(first(OneOp("OptionalHasElement", 18).counted({2})).values, ElementsAre(1));
  EXPECT_THAT(first(OneOp("OptionalHasElement", 18)).values, ElementsAre(0));
}

}  // namespace
}  // namespace plica::onnx
