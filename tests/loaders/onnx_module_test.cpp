#include <gmock/gmock.h>

#include "loaders/onnx/module.h"
#include "tests/harness/onnx_model.h"

namespace plica::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string error_of(const proto::ModelProto& model) {
  auto module = read(model);
  if (module) return "";
  EXPECT_EQ(module.error().code(), Code::kInvalidModel) << module.error().what();
  return module.error().what();
}

TEST(OnnxModule, KeepsWhatTheFileSays) {
  auto proto = rich_model();
  proto.set_producer_name("maker");
  proto.set_producer_version("1.2");
  auto& entry = *proto.add_metadata_props();
  entry.set_key("family");
  entry.set_value("esm2");
  const auto module = read(proto);
  ASSERT_TRUE(module) << to_string(module.error());
  EXPECT_EQ(module->producer, "maker 1.2");
  EXPECT_THAT(module->metadata, ElementsAre(std::pair<std::string, std::string>("family", "esm2")));
  EXPECT_EQ(module->opsets.size(), 2u);
  EXPECT_THAT(module->warnings, IsEmpty());
  const Body& main = module->main();
  ASSERT_EQ(main.inputs.size(), 1u);
  EXPECT_EQ(main.inputs[0].name, "x");
  EXPECT_EQ(main.inputs[0].type.dtype, DType::kF32);
  ASSERT_EQ(main.inputs[0].type.dims.size(), 2u);
  EXPECT_EQ(main.inputs[0].type.dims[0].name, "d0");
  EXPECT_EQ(main.inputs[0].type.dims[0].size, -1);
  EXPECT_EQ(main.inputs[0].type.dims[1].size, 4);
  ASSERT_EQ(main.nodes.size(), 3u);  // Mul, Mul of the function, If
  EXPECT_EQ(main.nodes[0].version, 17);
  EXPECT_EQ(module->op_of(main.nodes[2]).type, "If");
  EXPECT_EQ(module->constants.size(), 3u);
}

TEST(OnnxModule, BodiesReadOuterValues) {
  const auto module = read(rich_model());
  ASSERT_TRUE(module) << to_string(module.error());
  const Node& condition = module->main().nodes.back();
  const auto* branch = std::get_if<GraphAttribute>(&condition.find("then_branch")->value);
  ASSERT_NE(branch, nullptr);
  const Body& body = module->bodies[static_cast<size_t>(branch->body)];
  ASSERT_EQ(body.nodes.size(), 1u);
  EXPECT_EQ(body.nodes[0].inputs[0], module->main().nodes[1].outputs[0]);
}

TEST(OnnxModule, AnInitializerThatIsAlsoAnInputIsAConstant) {
  auto proto = empty_model(7, 3);
  auto& graph = *proto.mutable_graph();
  add_input(graph, "x", {2});
  add_input(graph, "w", {2});
  *graph.add_initializer() = raw_tensor<float>("w", proto::TensorProto::FLOAT, {2}, {1, 2});
  add_node(graph, "Add", {"x", "w"}, {"y"});
  add_output(graph, "y");
  const auto module = read(proto);
  ASSERT_TRUE(module) << to_string(module.error());
  ASSERT_EQ(module->main().inputs.size(), 1u);
  EXPECT_EQ(module->main().inputs[0].name, "x");
  const ValueId weight = module->main().nodes[0].inputs[1];
  EXPECT_EQ(module->values[static_cast<size_t>(weight)].constant, 0);
}

TEST(OnnxModule, OptionalOperandsAreLeftOut) {
  auto proto = empty_model();
  auto& graph = *proto.mutable_graph();
  add_input(graph, "x", {2});
  add_node(graph, "Clip", {"x", "", "x", ""}, {"y", ""});
  add_output(graph, "y");
  const auto module = read(proto);
  ASSERT_TRUE(module) << to_string(module.error());
  const Node& node = module->main().nodes[0];
  EXPECT_THAT(node.inputs, ElementsAre(node.inputs[0], kNoValue, node.inputs[0]));
  EXPECT_EQ(node.outputs[1], kNoValue);
}

TEST(OnnxModule, TypedAttributes) {
  auto proto = empty_model();
  auto& graph = *proto.mutable_graph();
  add_input(graph, "x", {2});
  auto& node = add_node(graph, "Op", {"x"}, {"y"});
  add_int(node, "axis", -1);
  add_attribute(node, "alpha", proto::AttributeProto::UNDEFINED).set_f(0.5f);  // as old files have it
  add_attribute(node, "mode", proto::AttributeProto::STRING).set_s("tanh");
  add_attribute(node, "pads", proto::AttributeProto::INTS).add_ints(3);
  add_output(graph, "y");
  const auto module = read(proto);
  ASSERT_TRUE(module) << to_string(module.error());
  const Node& read_node = module->main().nodes[0];
  EXPECT_EQ(*int_attribute(read_node, "axis", 7), -1);
  EXPECT_EQ(*int_attribute(read_node, "other", 7), 7);
  EXPECT_EQ(*float_attribute(read_node, "alpha", 0), 0.5f);
  EXPECT_EQ(*string_attribute(read_node, "mode", "none"), "tanh");
  EXPECT_THAT(*ints_attribute(read_node, "pads"), ElementsAre(3));
  const auto wrong = int_attribute(read_node, "mode", 0);
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().what(), HasSubstr("'mode' is of kind string, wanted int"));
  EXPECT_EQ(describe(*module, read_node), "node 'making y' (Op, opset 17)");
}

TEST(OnnxModule, NewerOpsetsWarn) {
  auto proto = rich_model();
  proto.mutable_opset_import(0)->set_domain("");
  proto.mutable_opset_import(0)->set_version(99);
  const auto module = read(proto);
  ASSERT_TRUE(module);
  ASSERT_EQ(module->warnings.size(), 1u);
  EXPECT_THAT(module->warnings[0], HasSubstr("opset 99 is newer than 24, the newest that is known"));
}

TEST(OnnxModule, NewerIrVersionsWarn) {
  const auto module = read([] {
    auto proto = rich_model();
    proto.set_ir_version(99);
    return proto;
  }());
  ASSERT_TRUE(module);
  ASSERT_EQ(module->warnings.size(), 1u);
  EXPECT_THAT(module->warnings[0], HasSubstr("IR version 99 is newer than 13"));
  auto old = rich_model();
  old.set_ir_version(2);
  EXPECT_EQ(read(old).error().code(), Code::kUnsupported);
}

TEST(OnnxModule, RefusesBrokenOrder) {
  auto proto = empty_model();
  auto& graph = *proto.mutable_graph();
  add_input(graph, "x", {2});
  add_output(graph, "y");
  add_node(graph, "Neg", {"t"}, {"y"}).set_name("first");
  EXPECT_THAT(error_of(proto), HasSubstr("value 't' is made by no node\n  while reading node 'first' (Neg)"));
  add_node(graph, "Abs", {"x"}, {"t"}).set_name("second");
  EXPECT_THAT(error_of(proto), HasSubstr("value 't' is used before node 'second' (Abs) makes it"));
  add_node(graph, "Abs", {"x"}, {"x"});
  graph.mutable_node(0)->set_input(0, "x");
  EXPECT_THAT(error_of(proto), HasSubstr("value 'x' is made twice"));
  graph.clear_node();
  EXPECT_THAT(error_of(proto), HasSubstr("graph output 'y' is made by no node"));
  add_node(graph, "Neg", {"y"}, {"y"});
  EXPECT_THAT(error_of(proto), HasSubstr("is used before"));
}

TEST(OnnxModule, RefusesWhatIsNoModel) {
  EXPECT_THAT(error_of(proto::ModelProto()), HasSubstr("no IR version"));
  auto proto = rich_model();
  proto.clear_graph();
  EXPECT_THAT(error_of(proto), HasSubstr("no graph"));
  proto = rich_model();
  proto.clear_opset_import();
  EXPECT_THAT(error_of(proto), HasSubstr("no operator set"));
  proto = rich_model();
  proto.add_opset_import()->set_version(proto.opset_import(0).version());
  EXPECT_EQ(error_of(proto), "");
  proto.add_opset_import()->set_version(11);
  EXPECT_THAT(error_of(proto), HasSubstr("imports operator set '' twice"));
  EXPECT_EQ(read_module("/no/such/model.onnx").error().code(), Code::kInvalidInput);
  EXPECT_THAT(read_module("/tmp").error().what(), HasSubstr("it is a folder"));
}

}  // namespace
}  // namespace plica::onnx
