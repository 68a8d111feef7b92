#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

proto::GraphProto& add_body(OneOp& op, const std::string& name) {
  auto& body = *add_attribute(op.node(), name, proto::AttributeProto::GRAPH).mutable_g();
  body.set_name(name);
  return body;
}

OneOp branches(uint8_t condition) {
  OneOp op("If");
  op.input<uint8_t>({}, {condition});
  auto& outer = *op.graph().add_initializer() = raw_tensor<float>("w", proto::TensorProto::FLOAT, {2}, {1, 2});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& body = add_body(op, name);
    add_node(body, name[0] == 't' ? "Neg" : "ReduceSum", {outer.name()}, {"r"});
    add_output(body, "r");
  }
  return op;
}

TEST(OnnxControl, TheBranchThatIsTakenIsLowered) {
  EXPECT_THAT(first(branches(1)).values, ElementsAre(-1, -2));
  EXPECT_THAT(first(branches(0)).shape, ElementsAre(1));
  const auto graph = branches(1).lower();
  ASSERT_TRUE(graph) << to_string(graph.error());
  EXPECT_THAT(graph->noted(), ElementsAre("if"));
}

// carried = carried + iteration; leaves 2 * carried; goes on while carried < 3.
OneOp counting_loop(int64_t limit) {
  OneOp op("Loop", 17, 2);
  op.input<int64_t>({}, {limit}).absent().input<int64_t>({1}, {0});
  auto& body = add_body(op, "body");
  for (const char* name : {"i", "go", "carried"}) body.add_input()->set_name(name);
  add_node(body, "Add", {"carried", "i"}, {"next"});
  auto& three = add_node(body, "Constant", {}, {"three"});
  add_int(three, "value_int", 3);
  add_node(body, "Less", {"next", "three"}, {"goes_on"});
  add_node(body, "Add", {"next", "next"}, {"twice"});
  for (const char* name : {"goes_on", "next", "twice"}) add_output(body, name);
  return op;
}

TEST(OnnxControl, LoopsRunAsOftenAsTheySay) {
  auto by_condition = counting_loop(100);
  const auto outputs = by_condition.run();
  ASSERT_TRUE(outputs) << to_string(outputs.error());
  EXPECT_THAT(numbers((*outputs)[0]).values, ElementsAre(3));
  EXPECT_THAT(numbers((*outputs)[1]).shape, ElementsAre(3, 1));
  EXPECT_THAT(numbers((*outputs)[1]).values, ElementsAre(0, 2, 6));
  EXPECT_THAT(first(counting_loop(2)).values, ElementsAre(1));
  EXPECT_THAT(error_of(counting_loop(0)), HasSubstr("a loop of no iterations whose output 'twice' has no fixed shape"));
}

TEST(OnnxControl, EndlessLoopsAreRefused) {
  OneOp op("Loop");
  op.absent().absent().input<int64_t>({1}, {0});
  auto& body = add_body(op, "body");
  for (const char* name : {"i", "go", "carried"}) body.add_input()->set_name(name);
  add_node(body, "Identity", {"go"}, {"goes_on"});
  add_node(body, "Identity", {"carried"}, {"next"});
  for (const char* name : {"goes_on", "next"}) add_output(body, name);
  EXPECT_THAT(error_of(op), HasSubstr("a loop of more than 16384 iterations"));
}

// state = state + slice; leaves the state.
OneOp running_sum(int64_t backwards) {
  OneOp op("Scan", 17, 2);
  op.input<float>({1}, {0}).counted({3, 1}).attr("num_scan_inputs", int64_t{1});
  op.attr("scan_input_directions", std::vector<int64_t>{backwards});
  auto& body = add_body(op, "body");
  for (const char* name : {"state", "slice"}) body.add_input()->set_name(name);
  add_node(body, "Add", {"state", "slice"}, {"next"});
  add_node(body, "Identity", {"next"}, {"left"});
  for (const char* name : {"next", "left"}) add_output(body, name);
  return op;
}

TEST(OnnxControl, ScansGoForwardAndBackward) {
  auto forward = running_sum(0), backward = running_sum(1);
  const auto sums = forward.run(), reversed = backward.run();
  ASSERT_TRUE(sums && reversed);
  EXPECT_THAT(numbers((*sums)[0]).values, ElementsAre(3));
  EXPECT_THAT(numbers((*sums)[1]).values, ElementsAre(0, 1, 3));
  EXPECT_THAT(numbers((*reversed)[1]).values, ElementsAre(2, 3, 3));
}

}  // namespace
}  // namespace plica::onnx
