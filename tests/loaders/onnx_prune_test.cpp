#include <gmock/gmock.h>

#include "loaders/onnx/prune.h"
#include "tests/harness/onnx_model.h"

namespace plica::onnx {
namespace {

TEST(OnnxPrune, DropsWhatNoOutputNeeds) {
  auto proto = rich_model();
  auto& graph = *proto.mutable_graph();
  *graph.add_initializer() = raw_tensor<float>("unused", proto::TensorProto::FLOAT, {2}, {1, 2});
  add_node(graph, "Neg", {"unused"}, {"dead"});
  add_node(graph, "Abs", {"dead"}, {"deader"});
  const auto module = read(proto);
  ASSERT_TRUE(module) << to_string(module.error());
  EXPECT_EQ(module->num_dropped_nodes, 2);
  EXPECT_EQ(module->main().nodes.size(), 3u);
  for (const Constant& constant : module->constants) EXPECT_NE(constant.name, "unused");
}

TEST(OnnxPrune, KeepsWhatOnlyABodyReads) {
  auto proto = rich_model();
  auto& graph = *proto.mutable_graph();
  auto* branch = graph.mutable_node(1)->mutable_attribute(0)->mutable_g();
  branch->mutable_node(0)->set_input(0, "only");
  add_node(*branch, "Exp", {"s"}, {"dead"});
  add_node(graph, "Neg", {"x"}, {"only"});
  graph.mutable_node()->SwapElements(1, 2);
  const auto module = read(proto);
  ASSERT_TRUE(module) << to_string(module.error());
  EXPECT_EQ(module->main().nodes.size(), 4u);
  EXPECT_EQ(module->num_dropped_nodes, 1);
}

TEST(OnnxPrune, UsesOfConstantsAreReported) {
  Module module;
  module.constants.resize(3);
  module.values = {{"x", -1}, {"a", 0}, {"b", 1}, {"y", -1}};
  module.ops = {{"", "Add"}};
  module.bodies.resize(1);
  module.bodies[0].outputs.push_back({3, "y", {}});
  Node node;
  node.inputs = {0, 1};
  node.outputs = {3};
  node.attributes = {{"t", TensorAttribute{2}}};
  module.bodies[0].nodes.push_back(node);
  EXPECT_THAT(prune(module), testing::ElementsAre(true, false, true));
}

}  // namespace
}  // namespace plica::onnx
