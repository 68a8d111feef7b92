#include <gmock/gmock.h>

#include "loaders/onnx/graph_reader.h"
#include "tests/harness/onnx_model.h"

namespace plica::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// x -> y through the nodes that a test adds.
proto::ModelProto open_model() {
  auto model = empty_model();
  add_input(*model.mutable_graph(), "x", {2});
  add_output(*model.mutable_graph(), "y");
  return model;
}

proto::FunctionProto& add_function(proto::ModelProto& model, const std::string& name, Names inputs, Names outputs) {
  auto& function = *model.add_functions();
  function.set_name(name);
  function.set_domain("own");
  for (const auto& input : inputs) function.add_input(input);
  for (const auto& output : outputs) function.add_output(output);
  return function;
}

template <class Graph>
proto::NodeProto& add_call(Graph& graph, const std::string& name, Names inputs, Names outputs) {
  auto& node = add_node(graph, name, inputs, outputs);
  node.set_domain("own");
  return node;
}

std::vector<std::string> ops_of(const Module& module) {
  std::vector<std::string> ops;
  for (const Node& node : module.main().nodes) ops.push_back(module.op_of(node).type);
  return ops;
}

TEST(OnnxFunction, IsInlinedAtEachCall) {
  auto model = open_model();
  add_call(*model.mutable_graph(), "F", {"x"}, {"t"}).set_name("one");
  add_call(*model.mutable_graph(), "F", {"t"}, {"y"});
  auto& f = add_function(model, "F", {"a"}, {"b"});
  add_node(f, "Neg", {"a"}, {"c"}).set_name("n");
  add_call(f, "G", {"c"}, {"b"});
  auto& g = add_function(model, "G", {"a"}, {"a2"});
  add_node(g, "Abs", {"a"}, {"a2"}).set_name("abs");
  g.add_opset_import()->set_version(9);
  const auto module = read(model);
  ASSERT_TRUE(module) << to_string(module.error());
  EXPECT_THAT(ops_of(*module), ElementsAre("Neg", "Abs", "Neg", "Abs"));
  const auto& nodes = module->main().nodes;
  EXPECT_EQ(nodes[0].name, "one/n");
  EXPECT_EQ(nodes[1].name, "one/G/abs");
  EXPECT_EQ(nodes[3].name, "F/G/abs");
  EXPECT_EQ(nodes[0].version, 17);
  EXPECT_EQ(nodes[1].version, 9);
  EXPECT_EQ(nodes[2].inputs[0], nodes[1].outputs[0]);
  EXPECT_EQ(module->main().outputs[0].value, nodes[3].outputs[0]);
}

TEST(OnnxFunction, AttributesAreBoundOrTakeTheirDefault) {
  auto model = open_model();
  add_int(add_call(*model.mutable_graph(), "F", {"x"}, {"t"}), "way", 5);
  add_call(*model.mutable_graph(), "F", {"t"}, {"y"});
  auto& f = add_function(model, "F", {"a"}, {"b"});
  auto& inner = add_call(f, "G", {"a"}, {"b"});
  add_attribute(inner, "axis", proto::AttributeProto::INT).set_ref_attr_name("way");
  auto& standard = *f.add_attribute_proto();
  standard.set_name("way");
  standard.set_type(proto::AttributeProto::INT);
  standard.set_i(-1);
  auto& g = add_function(model, "G", {"a"}, {"b"});
  auto& node = add_node(g, "Softmax", {"a"}, {"b"});
  add_attribute(node, "axis", proto::AttributeProto::INT).set_ref_attr_name("axis");
  add_attribute(node, "absent", proto::AttributeProto::INT).set_ref_attr_name("absent");
  const auto module = read(model);
  ASSERT_TRUE(module) << to_string(module.error());
  const auto& nodes = module->main().nodes;
  EXPECT_EQ(*int_attribute(nodes[0], "axis", 0), 5);
  EXPECT_EQ(*int_attribute(nodes[1], "axis", 0), -1);
  EXPECT_EQ(nodes[0].find("absent"), nullptr);
}

TEST(OnnxFunction, OverloadsAndOptionalInputs) {
  auto model = open_model();
  add_call(*model.mutable_graph(), "F", {"x"}, {"t"}).set_overload("two");
  add_call(*model.mutable_graph(), "F", {"t"}, {"y"}).set_overload("one");
  for (const char* overload : {"one", "two"}) {
    auto& f = add_function(model, "F", {"a", "maybe"}, {"b"});
    f.set_overload(overload);
    add_node(f, overload == std::string("one") ? "Neg" : "Clip", {"a", "", "maybe"}, {"b"});
  }
  const auto module = read(model);
  ASSERT_TRUE(module) << to_string(module.error());
  EXPECT_THAT(ops_of(*module), ElementsAre("Clip", "Neg"));
  EXPECT_EQ(module->main().nodes[0].inputs.size(), 1u);
}

TEST(OnnxFunction, ConstantsAreSharedByAllCalls) {
  auto model = rich_model();
  auto& call = *model.mutable_graph()->add_node() = model.graph().node(0);
  call.set_input(0, "s");
  call.set_output(0, "s2");
  model.mutable_graph()->mutable_output(0)->set_name("s2");
  const auto module = read(model);
  ASSERT_TRUE(module) << to_string(module.error());
  EXPECT_EQ(module->constants.size(), 2u);  // w, k
  EXPECT_EQ(ops_of(*module).size(), 4u);
}

TEST(OnnxFunction, GraphsInAFunctionAndGraphsGivenToIt) {
  auto model = open_model();
  auto& call = add_call(*model.mutable_graph(), "F", {"x"}, {"y"});
  auto& given = *add_attribute(call, "body", proto::AttributeProto::GRAPH).mutable_g();
  add_node(given, "Neg", {"x"}, {"r"});  // sees the names around the call
  add_output(given, "r");
  auto& f = add_function(model, "F", {"a"}, {"b"});
  auto& condition = add_node(f, "If", {"a"}, {"b"});
  add_attribute(condition, "then_branch", proto::AttributeProto::GRAPH).set_ref_attr_name("body");
  auto& own = *add_attribute(condition, "else_branch", proto::AttributeProto::GRAPH).mutable_g();
  add_node(own, "Abs", {"a"}, {"r"});
  add_output(own, "r");
  const auto module = read(model);
  ASSERT_TRUE(module) << to_string(module.error());
  ASSERT_EQ(module->bodies.size(), 3u);
  const ValueId x = module->main().inputs[0].value;
  EXPECT_EQ(module->bodies[1].nodes[0].inputs[0], x);
  EXPECT_EQ(module->bodies[2].nodes[0].inputs[0], x);
}

TEST(OnnxFunction, RefusesRecursionAndExplosion) {
  auto model = open_model();
  add_call(*model.mutable_graph(), "F", {"x"}, {"y"});
  add_call(add_function(model, "F", {"a"}, {"b"}), "G", {"a"}, {"b"});
  add_call(add_function(model, "G", {"a"}, {"b"}), "F", {"a"}, {"b"});
  EXPECT_THAT(read(model).error().what(), HasSubstr("function 'F' calls itself"));

  model = open_model();
  add_call(*model.mutable_graph(), "F0", {"x"}, {"y"});
  for (int i = 0; i < 60; ++i) {
    auto& f = add_function(model, "F" + std::to_string(i), {"a"}, {"b"});
    add_call(f, "F" + std::to_string(i + 1), {"a"}, {"c"});
    add_call(f, "F" + std::to_string(i + 1), {"c"}, {"b"});
  }
  add_node(add_function(model, "F60", {"a"}, {"b"}), "Neg", {"a"}, {"b"});
  EXPECT_THAT(read(model).error().what(), HasSubstr("the graph is too large"));

  model = open_model();
  add_call(*model.mutable_graph(), "F0", {"x"}, {"y"});
  for (int i = 0; i < 300; ++i)
    add_call(add_function(model, "F" + std::to_string(i), {"a"}, {"b"}), "F" + std::to_string(i + 1), {"a"}, {"b"});
  EXPECT_THAT(read(model).error().what(), HasSubstr("functions nest deeper than 200"));
}

TEST(OnnxFunction, RefusesBrokenCalls) {
  auto model = open_model();
  add_call(*model.mutable_graph(), "F", {"x", "x"}, {"y"});
  auto& f = add_function(model, "F", {"a"}, {"b"});
  EXPECT_THAT(read(model).error().what(), HasSubstr("it has 2 inputs and 1 outputs, function 'F' has 1 and 1"));
  f.add_input("c");
  EXPECT_THAT(read(model).error().what(), HasSubstr("output 'b' of function 'F' is made by no node"));
  add_node(f, "Neg", {"x"}, {"b"});
  EXPECT_THAT(read(model).error().what(), HasSubstr("value 'x' is made by no node"));
  *model.add_functions() = f;
  EXPECT_THAT(read(model).error().what(), HasSubstr("function 'own.F' is defined twice"));
  model = open_model();
  auto& node = add_node(*model.mutable_graph(), "Neg", {"x"}, {"y"});
  add_attribute(node, "axis", proto::AttributeProto::INT).set_ref_attr_name("far");
  EXPECT_THAT(read(model).error().what(), HasSubstr("'axis' refers to 'far' of a function, but stands in none"));
}

}  // namespace
}  // namespace plica::onnx
