#include "loaders/onnx/lower.h"
#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Signature signature_of(std::vector<TensorType> inputs) {
  Signature signature;
  signature.values.resize(inputs.size());
  signature.inputs = std::move(inputs);
  return signature;
}

TEST(OnnxLower, AllUnsupportedOperatorsAreNamedAtOnce) {
  auto proto = empty_model(17);
  auto& graph = *proto.mutable_graph();
  add_input(graph, "x", {2});
  add_node(graph, "Frobnicate", {"x"}, {"a"}).set_name("first");
  add_node(graph, "Gelu", {"a"}, {"b"});  // known from version 20 on
  add_node(graph, "Frobnicate", {"b"}, {"y"});
  add_output(graph, "y");
  const auto module = read(proto);
  ASSERT_TRUE(module) << to_string(module.error());
  const Status status = check_operators(*module);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), Code::kUnsupported);
  EXPECT_THAT(status.error().what(), HasSubstr("Frobnicate (opset 17): node 'first', 'y'"));
  EXPECT_THAT(status.error().what(), HasSubstr("Gelu (opset 17): node 'b'"));
}

// Reshape(x, Concat(Slice(Shape(x)), n)) with n an input.
proto::ModelProto reshape_model() {
  auto proto = empty_model(17);
  auto& graph = *proto.mutable_graph();
  add_input(graph, "x", {-1, 4});
  add_input(graph, "n", {1});
  graph.mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(proto::TensorProto::INT64);
  *graph.add_initializer() = raw_tensor<int64_t>("zero", proto::TensorProto::INT64, {1}, {0});
  *graph.add_initializer() = raw_tensor<int64_t>("one", proto::TensorProto::INT64, {1}, {1});
  add_node(graph, "Shape", {"x"}, {"s"});
  add_node(graph, "Slice", {"s", "zero", "one"}, {"rows"});
  add_int(add_node(graph, "Concat", {"rows", "n"}, {"to"}), "axis", 0);
  add_node(graph, "Reshape", {"x", "to"}, {"y"}).set_name("reshape");
  add_output(graph, "y");
  return proto;
}

TEST(OnnxLower, AsksForTheInputThatAShapeHangsOn) {
  const auto module = read(reshape_model());
  ASSERT_TRUE(module) << to_string(module.error());
  Signature signature = signature_of({{DType::kF32, {3, 4}, {}}, {DType::kI64, {1}, {}}});
  const auto asked = lower(*module, signature);
  ASSERT_TRUE(asked) << to_string(asked.error());
  const auto* needs = std::get_if<NeedsValues>(&*asked);
  ASSERT_NE(needs, nullptr);
  EXPECT_THAT(needs->inputs, ElementsAre(1));
  EXPECT_THAT(needs->why, HasSubstr("'reshape'"));
  EXPECT_THAT(needs->why, HasSubstr("'n'"));

  Tensor n = *Tensor::zeros(DType::kI64, {1});
  *n.as<int64_t>() = 4;
  signature.values[1] = n;
  const auto lowered = lower(*module, signature);
  ASSERT_TRUE(lowered) << to_string(lowered.error());
  const Graph& graph = std::get<Graph>(*lowered);
  EXPECT_EQ(graph.num_nodes(), 0u);  // all shape arithmetic is gone, and 3x4 as 3x4 is nothing
  EXPECT_EQ(graph.inputs().size(), 2u);
  EXPECT_EQ(graph.outputs()[0], graph.inputs()[0]);
}

TEST(OnnxLower, WeightExpressionsStayNodes) {
  auto proto = empty_model(17);
  auto& graph = *proto.mutable_graph();
  add_input(graph, "x", {2, 128});
  *graph.add_initializer() = raw_tensor<float>("w", proto::TensorProto::FLOAT, {128, 128}, std::vector<float>(16384));
  add_node(graph, "Transpose", {"w"}, {"t"});
  add_node(graph, "Identity", {"t"}, {"i"});
  add_node(graph, "MatMul", {"x", "i"}, {"y"});
  add_output(graph, "y");
  const auto module = read(proto);
  ASSERT_TRUE(module) << to_string(module.error());
  const auto lowered = lower(*module, signature_of({{DType::kF32, {2, 128}, {}}}));
  ASSERT_TRUE(lowered) << to_string(lowered.error());
  const Graph& made = std::get<Graph>(*lowered);
  ASSERT_EQ(made.order().size(), 2u);
  const plica::Constant* weight = made.constant(made.node(made.order()[0]).inputs[0]);
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->key, "w0");
}

TEST(OnnxLower, PortsThatAreNoTensorsOfNumbersAreRefused) {
  auto proto = reshape_model();
  proto.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      proto::TensorProto::STRING);
  const auto module = read(proto);
  ASSERT_TRUE(module) << to_string(module.error());
  const Status status = check_operators(*module);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().what(), HasSubstr("input 'x' is a tensor of string, wanted a tensor of numbers"));
}

TEST(OnnxLower, ShapesBeyondAllMemoryAreRefused) {
  const int64_t many = int64_t{1} << 40;
  EXPECT_THAT(error_of(OneOp("Expand").counted({1}).ints({many, many})), HasSubstr("at most 2^58 elements"));
  EXPECT_THAT(error_of(OneOp("Tile").counted({2, 2}).ints({-1, 1})), HasSubstr("none negative"));
  EXPECT_THAT(error_of(OneOp("Reshape").counted({1}).ints(std::vector<int64_t>(17, 1))), HasSubstr("at most 16 sizes"));
  EXPECT_THAT(error_of(OneOp("ConstantOfShape").ints({many, many, 0})), HasSubstr("at most 2^58 elements"));
}

TEST(OnnxLower, ErrorsNameTheNode) {
  EXPECT_THAT(error_of(OneOp("Where").counted({2})), HasSubstr("input 1 is absent"));
  EXPECT_THAT(error_of(OneOp("Softmax").counted({2}).attr("axis", 3)), HasSubstr("'the_node' (Softmax, opset 17)"));
  EXPECT_THAT(error_of(OneOp("Softmax").counted({2}).attr("axis", 1.5f)), HasSubstr("'axis' is of kind float"));
}

TEST(OnnxLower, ASequenceIsNoTensor) {
  auto proto = empty_model(17);
  auto& graph = *proto.mutable_graph();
  add_input(graph, "x", {2});
  add_node(graph, "SequenceConstruct", {"x", "x"}, {"s"});
  add_node(graph, "Softmax", {"s"}, {"y"});
  add_output(graph, "y");
  const auto module = read(proto);
  ASSERT_TRUE(module) << to_string(module.error());
  const auto lowered = lower(*module, signature_of({{DType::kF32, {2}, {}}}));
  ASSERT_FALSE(lowered);
  EXPECT_THAT(lowered.error().what(), HasSubstr("input 0 is a sequence, wanted a tensor"));
  EXPECT_THAT(error_of(OneOp("Einsum").counted({2}).absent().counted({2}).attr("equation", std::string("i,i,i->i"))),
              HasSubstr("an operand is absent"));
}

TEST(OnnxLower, AnOutputThatItsOperatorDoesNotGiveIsNamedWhereItIsRead) {
  auto proto = empty_model(17);
  auto& graph = *proto.mutable_graph();
  add_input(graph, "x", {2});
  add_node(graph, "Softmax", {"x"}, {"y", "more"}).set_name("soft");
  add_output(graph, "y");
  const Signature signature = signature_of({{DType::kF32, {2}, {}}});
  EXPECT_TRUE(lower(*read(proto), signature));  // unread
  add_output(graph, "more");
  const auto lowered = lower(*read(proto), signature);
  ASSERT_FALSE(lowered);
  EXPECT_EQ(lowered.error().code(), Code::kInvalidModel);
  EXPECT_THAT(lowered.error().what(), HasSubstr("'more' is read, wanted an output that is made; node 'soft' (Softmax, "
                                                "opset 17) gives no output 1"));
}

TEST(OnnxLower, TheSourceHasThePortsOfTheFile) {
  auto module = read(reshape_model());
  ASSERT_TRUE(module) << to_string(module.error());
  const Source source = make_source(std::make_shared<const Module>(*std::move(module)));
  ASSERT_EQ(source.inputs.size(), 2u);
  EXPECT_THAT(source.inputs[0].shape, ElementsAre(-1, 4));
  EXPECT_EQ(source.inputs[0].symbols[0], "d0");
  EXPECT_EQ(source.inputs[1].dtype, DType::kI64);
  EXPECT_FALSE(source.specialise(signature_of({{DType::kF32, {3, 4}, {}}})));
}

}  // namespace
}  // namespace plica::onnx
