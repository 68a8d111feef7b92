#include "plica/model.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "plica/session.h"
#include "runtime/api/model_state.h"
#include "tests/harness/onnx_model.h"
#include "tests/harness/temp_folder.h"
#include "tests/harness/test_device.h"
#include "tests/harness/transformer_layer.h"

namespace plica {
namespace {

using testing::HasSubstr;

Model layer_model(int num_threads = 1) {
  return *Model::State::make(text_source(kTransformerLayer), {.device = test_device(), .num_threads = num_threads});
}

std::map<std::string, Tensor> layer_inputs(int64_t batch, int64_t length) {
  std::map<std::string, Tensor> inputs{{"ids", *Tensor::zeros(DType::kI64, {batch, length})},
                                       {"mask", *Tensor::zeros(DType::kBool, {batch, 1, 1, length})}};
  for (int64_t i = 0; i < batch * length; ++i) {
    inputs["ids"].as<int64_t>()[i] = i * 7 % 32;
    inputs["mask"].as<bool>()[i] = i % length < length - 1;
  }
  return inputs;
}

bool same_bits(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  for (const auto& [name, tensor] : a)
    if (std::memcmp(tensor.data(), b.at(name).data(), tensor.num_bytes()) != 0) return false;
  return a.size() == b.size();
}

TEST(Model, RunsGiveTheSameBits) {
  const Model model = layer_model(2);
  Session session = *model.session(), other = *model.session();
  const auto inputs = layer_inputs(3, 17);
  const auto first = session.run(inputs);
  ASSERT_TRUE(first) << to_string(first.error());
  EXPECT_TRUE(std::isfinite(first->at("y").as<float>()[0]));
  EXPECT_TRUE(same_bits(*first, *session.run(inputs)));
  EXPECT_TRUE(same_bits(*first, *other.run(inputs)));
}

TEST(Model, SessionsOnTwoThreadsGiveTheBitsOfOne) {
  const Model model = layer_model();
  Session alone = *model.session();
  std::vector<std::map<std::string, Tensor>> wanted;
  for (int64_t length = 1; length < 9; ++length) wanted.push_back(*alone.run(layer_inputs(2, length)));

  const Model shared = layer_model();
  std::atomic<int> num_same = 0;
  const auto work = [&] {
    Session session = *shared.session();
    for (int64_t length = 1; length < 9; ++length) {
      const auto outputs = session.run(layer_inputs(2, length));
      num_same += outputs && same_bits(*outputs, wanted[static_cast<size_t>(length - 1)]);
    }
  };
  std::thread first(work), second(work);
  first.join();
  second.join();
  EXPECT_EQ(num_same, 16);
}

TEST(Model, TwentyLengthsHoldOneCopyOfEachWeight) {
  const Model model = layer_model();
  Session session = *model.session();
  ASSERT_TRUE(session.run(layer_inputs(1, 30)));
  const ConstantStore& constants = model.state()->constants;
  const size_t num_made = constants.num_made(), num_bytes = constants.num_bytes();
  for (int64_t length = 1; length <= 20; ++length) ASSERT_TRUE(session.run(layer_inputs(2, length)));
  EXPECT_EQ(constants.num_made(), num_made);
  EXPECT_EQ(constants.num_bytes(), num_bytes);
}

TEST(Model, ZeroLengthsRun) {
  Session session = *layer_model().session();
  for (const auto& [batch, length] : {std::pair(0, 5), std::pair(2, 0)}) {
    const auto outputs = session.run(layer_inputs(batch, length));
    ASSERT_TRUE(outputs) << to_string(outputs.error());
    EXPECT_EQ(outputs->at("y").shape(), (Shape{batch, length, 64}));
  }
}

TEST(Model, AnIndexOutsideNamesTheNode) {
  Session session = *layer_model().session();
  auto inputs = layer_inputs(1, 4);
  inputs["ids"].as<int64_t>()[2] = 32;
  const auto outputs = session.run(inputs);
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code(), Code::kInvalidInput);
  EXPECT_THAT(outputs.error().what(), HasSubstr("index 32, wanted -32 <= index < 32"));
}

TEST(Model, SizesOfOneNameThatDifferAreNamed) {
  Session session = *layer_model().session();
  auto inputs = layer_inputs(2, 4);
  inputs["mask"] = layer_inputs(2, 5)["mask"];
  EXPECT_THAT(to_string(session.run(inputs).error()), HasSubstr("size 'L' is 4 in input 'ids' and 5 in input 'mask'"));
}

size_t num_steps(const Model& model) {
  const std::vector<TensorView> views{{{DType::kI64, {2, 5}, {}}, nullptr},
                                      {{DType::kBool, {2, 1, 1, 5}, {}}, nullptr}};
  return (*model.state()->plan(views))->plan->steps.size();
}

TEST(Model, OfSelectedOutputsComputesNothingElse) {
  const Model all = layer_model();
  const auto chosen = all.select({"m", "y"});
  ASSERT_TRUE(chosen) << to_string(chosen.error());
  EXPECT_EQ(chosen->outputs()[0].name, "m");
  EXPECT_LT(num_steps(*chosen), num_steps(all));
  const size_t num_made = all.state()->constants.num_made();
  const auto inputs = layer_inputs(2, 5);
  Session whole = *all.session(), part = *chosen->session();
  const auto wanted = *whole.run(inputs), found = *part.run(inputs);
  EXPECT_EQ(all.state()->constants.num_made(), num_made) << "the weights are not shared";
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(same_bits(found, {{"m", wanted.at("m")}, {"y", wanted.at("y")}}));
  EXPECT_EQ(part.outputs()[0].type.shape, (Shape{2, 64}));
}

TEST(Model, StoredEdgesAreWhatIsGivenAndTaken) {
  const Source halves = text_source("input x: f16 {B}x4\ny = Sigmoid(Mul(x, 0.5))\noutput y\n");
  const auto load = [&](bool stored_edges) {
    return *Model::State::make(halves,
                               {.device = test_device(), .precision = Precision::kF32, .stored_edges = stored_edges});
  };
  EXPECT_EQ(load(false).inputs()[0].dtype, DType::kF16);
  const Model model = load(true);
  EXPECT_EQ(model.inputs()[0].dtype, DType::kF32);
  Session session = *model.session();
  const auto outputs = session.run({{"x", *Tensor::zeros(DType::kF32, {2, 4})}});
  ASSERT_TRUE(outputs) << to_string(outputs.error());
  EXPECT_EQ(outputs->at("y").dtype(), DType::kF32);
  EXPECT_EQ(outputs->at("y").as<float>()[7], 0.5F);
  const auto refused = session.run({{"x", *Tensor::zeros(DType::kF16, {2, 4})}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what(), HasSubstr("input 'x': found f16 2x4, wanted f32"));
}

TEST(Model, OutputsThatCannotBeSelectedAreNamed) {
  const Model model = layer_model();
  EXPECT_THAT(model.select({"y", "z"}).error().what(), HasSubstr("output 'z' is not of this model, wanted 'y', 'm'"));
  EXPECT_THAT(model.select({"y", "y"}).error().what(), HasSubstr("output 'y' is selected twice"));
  EXPECT_THAT(model.select({}).error().what(), HasSubstr("no output is selected, wanted at least one of 'y'"));
}

class ModelFile : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    put_file(folder / name, bytes);
    return folder / name;
  }

  TempFolder folder;
};

TEST_F(ModelFile, LoadsAndRuns) {
  auto proto = onnx::empty_model();
  onnx::add_input(*proto.mutable_graph(), "x", {-1, 3});
  onnx::add_node(*proto.mutable_graph(), "Softmax", {"x"}, {"y"});
  onnx::add_output(*proto.mutable_graph(), "y");
  const auto model = Model::load(write("softmax.onnx", proto.SerializeAsString()), {.device = test_device()});
  ASSERT_TRUE(model) << to_string(model.error());
  EXPECT_EQ(model->inputs()[0].name, "x");
  EXPECT_EQ(model->inputs()[0].symbols[0], "d0");
  Session session = *model->session();
  const auto outputs = session.run({{"x", *Tensor::zeros(DType::kF32, {2, 3})}});
  ASSERT_TRUE(outputs) << to_string(outputs.error());
  EXPECT_FLOAT_EQ(outputs->at("y").as<float>()[5], 1.f / 3);
  EXPECT_GE(model->state()->stats.load_ms, 0);
}

TEST_F(ModelFile, ErrorsNameTheFile) {
  const auto error = [](const std::string& path) { return to_string(Model::load(path).error()); };
  const std::string missing = folder / "missing.onnx", broken = write("broken.onnx", "not a model");
  EXPECT_THAT(error(missing), HasSubstr("while loading '" + missing + "'"));
  EXPECT_THAT(error(broken), HasSubstr("invalid model"));
  EXPECT_THAT(error(broken), HasSubstr("while loading '" + broken + "'"));
}

TEST_F(ModelFile, ListsOperatorsThatAreMissing) {
  auto proto = onnx::empty_model();
  onnx::add_input(*proto.mutable_graph(), "x", {-1, 3});
  onnx::add_node(*proto.mutable_graph(), "Sofftmax", {"x"}, {"y"});
  onnx::add_output(*proto.mutable_graph(), "y");
  const auto model = Model::load(write("unknown.onnx", proto.SerializeAsString()));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code(), Code::kUnsupported);
  EXPECT_THAT(model.error().what(), HasSubstr("Sofftmax"));
}

}  // namespace
}  // namespace plica
