#include <cmath>
#include <limits>

#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(OnnxPointwise, GreaterIsLessTurnedRound) {
  EXPECT_THAT(first(OneOp("Greater").counted({3}).constant<float>({}, {1})).values, ElementsAre(0, 0, 1));
  EXPECT_THAT(first(OneOp("GreaterOrEqual").counted({3}).constant<float>({}, {1})).values, ElementsAre(0, 1, 1));
}

TEST(OnnxPointwise, SumMeanMinMaxTakeAnyNumber) {
  EXPECT_THAT(first(OneOp("Sum").counted({2}).counted({2}).counted({2})).values, ElementsAre(0, 3));
  EXPECT_THAT(first(OneOp("Mean").counted({2}).counted({2}, 3)).values, ElementsAre(0, 2));
  EXPECT_THAT(first(OneOp("Max").counted({2}).counted({2}, -1)).values, ElementsAre(0, 1));
  EXPECT_THAT(first(OneOp("Min").counted({2})).values, ElementsAre(0, 1));
}

TEST(OnnxPointwise, PowHasTheBaseDtype) {
  EXPECT_THAT(first(OneOp("Pow").counted({3}).constant<int64_t>({}, {2})).values, ElementsAre(0, 1, 4));
  EXPECT_THAT(first(OneOp("Pow").input<int64_t>({2}, {2, 9}).constant<float>({}, {0.5f})).values, ElementsAre(1, 3));
}

TEST(OnnxPointwise, ClipBoundsAreOptional) {
  EXPECT_THAT(first(OneOp("Clip").counted({4}).absent().constant<float>({}, {2})).values, ElementsAre(0, 1, 2, 2));
  EXPECT_THAT(first(OneOp("Clip", 7).counted({4}).attr("min", 1.0f)).values, ElementsAre(1, 1, 2, 3));
}

TEST(OnnxPointwise, CastsOfWhatIsNoNumberAreDefined) {
  const Numbers y = first(OneOp("Cast").input<float>({3}, {-kInfinity, std::nanf(""), -1.5f}).attr("to", int64_t{7}));
  EXPECT_THAT(y.values, ElementsAre(static_cast<double>(INT64_MIN), 0, -1));
  EXPECT_THAT(error_of(OneOp("Cast", 19).counted({2}).attr("to", int64_t{17})), HasSubstr("'to'"));
  EXPECT_THAT(error_of(OneOp("Cast").counted({2})), HasSubstr("attribute 'to' is absent, wanted"));
}

TEST(OnnxPointwise, ModAndIsInfReadTheirAttributes) {
  EXPECT_THAT(first(OneOp("Mod").input<int64_t>({2}, {-4, 4}).constant<int64_t>({}, {3})).values, ElementsAre(2, 1));
  EXPECT_THAT(first(OneOp("Mod").counted({2}, -4).constant<float>({}, {3}).attr("fmod", 1)).values, ElementsAre(0, -1));
  EXPECT_THAT(
      first(OneOp("IsInf").input<float>({3}, {kInfinity, -kInfinity, 1}).attr("detect_negative", int64_t{0})).values,
      ElementsAre(1, 0, 0));
}

TEST(OnnxPointwise, GeluHasTwoForms) {
  const double erf = first(OneOp("Gelu", 20).input<float>({1}, {1})).values.at(0);
  const double tanh =
      first(OneOp("Gelu", 20).input<float>({1}, {1}).attr("approximate", std::string("tanh"))).values.at(0);
  EXPECT_NEAR(erf, 0.841345, 1e-5);
  EXPECT_NEAR(tanh, 0.841192, 1e-5);
  EXPECT_THAT(error_of(OneOp("Gelu", 20).counted({1}).attr("approximate", std::string("fast"))), HasSubstr("'fast'"));
}

TEST(OnnxPointwise, AConstantThatDoesNotBroadcastIsNamedAsFrozen) {
  const std::string error =
      error_of(OneOp("Mul").counted({1, 30, 4}).constant<float>({1, 26, 4}, std::vector<float>(104)));
  EXPECT_THAT(error, HasSubstr("the_node"));
  EXPECT_THAT(error, HasSubstr("'c1' holds 26 where 30 are needed"));
  EXPECT_THAT(error, HasSubstr("sequence axis is fixed at <= 26 by the export; export from a fresh model"));
}

TEST(OnnxPointwise, ALargeTableThatIsCutIsFrozenToo) {
  auto proto = empty_model(17);
  auto& graph = *proto.mutable_graph();
  add_input(graph, "x", {-1, 64});
  *graph.add_initializer() = raw_tensor<float>("table", proto::TensorProto::FLOAT, {128, 64}, std::vector<float>(8192));
  *graph.add_initializer() = raw_tensor<int64_t>("zero", proto::TensorProto::INT64, {1}, {0});
  add_int(add_node(graph, "Shape", {"x"}, {"rows"}), "end", 1);
  add_node(graph, "Slice", {"table", "zero", "rows"}, {"cut"});
  add_node(graph, "Mul", {"x", "cut"}, {"y"});
  add_output(graph, "y");
  const auto module = read(proto);
  ASSERT_TRUE(module) << to_string(module.error());
  Signature signature;
  signature.inputs = {{DType::kF32, {200, 64}, {}}};
  const auto lowered = lower(*module, signature);
  ASSERT_FALSE(lowered);
  EXPECT_THAT(lowered.error().what(), HasSubstr("sequence axis is fixed at <= 128 by the export"));
}

TEST(OnnxPointwise, DifferentDtypesAreRefused) {
  EXPECT_NE(error_of(OneOp("Add").counted({2}).input<int64_t>({2}, {1, 2})), "");
}

}  // namespace
}  // namespace plica::onnx
