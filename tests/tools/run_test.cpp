#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "loaders/array/npz.h"
#include "loaders/onnx/tensor_proto.h"
#include "runtime/core/dtype.h"
#include "tests/tools/program.h"

namespace plica {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Tensor ids(const Shape& shape, DType dtype = DType::kI64) {
  Tensor tensor = *Tensor::zeros(dtype, shape);
  if (dtype == DType::kI64)
    for (int64_t i = 0; i < num_elements(shape); ++i) tensor.as<int64_t>()[i] = 4 + i % 20;
  return tensor;
}

class Run : public testing::Test {
 protected:
  void SetUp() override {
    save(language_model(), plica_ / "m.onnx");
    ASSERT_TRUE(write_npz(plica_ / "in.npz", {{"input_ids", ids({2, 6})}, {"attention_mask", ids({2, 6})}}));
  }

  std::string refused(const std::vector<NamedTensor>& arrays) {
    EXPECT_TRUE(write_npz(plica_ / "bad.npz", arrays));
    const auto ended = plica_("run m.onnx --inputs bad.npz -o out.npz");
    EXPECT_EQ(ended.code, 2);
    EXPECT_FALSE(plica_.has("out.npz"));
    return ended.err;
  }

  Program plica_;
};

TEST_F(Run, GivesOutputsByName) {
  const auto ended = plica_("run m.onnx --inputs in.npz -o out.npz");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "last_hidden_state f32 2x6x4\n");
  auto arrays = read_npz(plica_ / "out.npz");
  ASSERT_TRUE(arrays);
  EXPECT_EQ((*arrays)[0].first, "last_hidden_state");
}

TEST_F(Run, AnOutputThatIsListedTwiceIsGivenOnce) {
  auto model = language_model();
  model.mutable_graph()->add_output()->CopyFrom(model.graph().output(0));
  save(model, plica_ / "twice.onnx");
  const auto ended = plica_("run twice.onnx --inputs in.npz -o out.npz");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(read_npz(plica_ / "out.npz")->size(), 1u);
}

TEST_F(Run, OutputThatDoesNotArriveIsAnError) {
  const auto ended = plica_("info m.onnx >/dev/full 2>.err; code=$?; : >.out; exit $code #");
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("the output could not be written: No space left on device"));
}

TEST_F(Run, WrongOptionsAreNamedWithWhatIsWanted) {
  const auto device = plica_("--version; '" PLICA_PROGRAM "' --device nosuch info m.onnx"),
             repeat = plica_("bench m.onnx in.npz --repeat 0");
  EXPECT_EQ(device.code, 2);
  EXPECT_THAT(device.err, HasSubstr("device 'nosuch', wanted cpu or cuda:N"));
  EXPECT_EQ(repeat.code, 2);
  EXPECT_THAT(repeat.err, HasSubstr("--repeat: found 0, wanted 1 or more"));
}

// The terminal that shows them takes no orders from a file.
TEST_F(Run, NamesOfFilesArePrintedAsText) {
  auto model = language_model();
  model.set_producer_name("a\x1b[31m");
  model.mutable_graph()->mutable_node(0)->set_input(0, "no\x1b]0;t\x07");
  save(model, plica_ / "bad.onnx");
  EXPECT_THAT(plica_("info bad.onnx").err, HasSubstr("value 'no\\x1b]0;t\\x07' is made by no node\n"));
  model.mutable_graph()->mutable_node(0)->set_input(0, "tokens");
  model.mutable_graph()->mutable_node(0)->set_name("n\n\x1b[2J");
  save(model, plica_ / "bad.onnx");
  EXPECT_THAT(plica_("info bad.onnx").out, HasSubstr("made by a\\x1b[31m"));
  EXPECT_THAT(plica_("explain bad.onnx --inputs in.npz").out, HasSubstr("'n\\x0a\\x1b[2J'"));
}

TEST_F(Run, WhatIsReadIsNotWrittenOver) {
  const std::string model = get_file(plica_ / "m.onnx"), inputs = get_file(plica_ / "in.npz");
  for (const char* arguments :
       {"run m.onnx --inputs in.npz -o m.onnx", "run m.onnx --inputs in.npz -o ./in.npz",
        "bench m.onnx in.npz --repeat 1 --output in.npz", "profile m.onnx --inputs in.npz -o m.onnx"}) {
    const auto ended = plica_(arguments);
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_THAT(ended.err, HasSubstr("wanted another file")) << arguments;
  }
  EXPECT_EQ(get_file(plica_ / "m.onnx"), model);
  EXPECT_EQ(get_file(plica_ / "in.npz"), inputs);
}

TEST_F(Run, HelpThatDoesNotArriveIsAnError) {
  for (const char* arguments : {"--help", "bench --help", "--version"})
    EXPECT_EQ(plica_(std::string(arguments) + " >/dev/full 2>.err; code=$?; : >.out; exit $code #").code, 2)
        << arguments;
}

TEST_F(Run, TakesForcedKernels) {
  const std::string kernel = Program::device() == "cpu" ? "ref" : "elements", forced = " --kernel Gather=" + kernel;
  const auto ended = plica_("run m.onnx --inputs in.npz -o out.npz --kernel MatMul=none" + forced);
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("forced kernel 'MatMul=none': found kernel 'none', wanted one of "));
  const auto explained = plica_("explain m.onnx --shape input_ids=2x6 --json" + forced);
  ASSERT_EQ(explained.code, 0) << explained.err;
  int num_gathers = 0;
  const json root = json::parse(explained.out);
  for (const json& step : root["steps"]) {
    if (step["op"] != "Gather") continue;
    ++num_gathers;
    EXPECT_EQ(step["kernel"], kernel);
    for (const json& other : step["declined"]) EXPECT_EQ(other["why"], kernel + " is forced");
  }
  EXPECT_GT(num_gathers, 0);
}

TEST_F(Run, OfChosenOutputsComputesNothingElse) {
  auto model = language_model();
  onnx::set_type(*model.mutable_graph()->add_output(), "sum", {-1, 4});
  save(model, plica_ / "two.onnx");
  const auto ended = plica_("run two.onnx --inputs in.npz -o out.npz --outputs sum");
  EXPECT_EQ(ended.out, "sum f32 2x1x4\n") << ended.err;
  EXPECT_EQ(read_npz(plica_ / "out.npz")->size(), 1u);
  const auto num_steps = [&](const std::string& options) {
    return json::parse(plica_("explain two.onnx --shape input_ids=2x6 --json" + options).out)["steps"].size();
  };
  EXPECT_LT(num_steps(" --outputs sum"), num_steps(""));
  EXPECT_THAT(plica_("run two.onnx --inputs in.npz -o out.npz --outputs sum,x").err,
              HasSubstr("output 'x' is not of this model, wanted 'last_hidden_state', 'sum'"));
}

TEST_F(Run, WrongInputsAreNamedWithWhatIsWanted) {
  EXPECT_THAT(refused({{"ids", ids({2, 6})}, {"attention_mask", ids({2, 6})}}), HasSubstr("'ids'"));
  EXPECT_THAT(refused({{"input_ids", ids({2, 6})}}), HasSubstr("input 'attention_mask' is missing"));
  EXPECT_THAT(refused({{"input_ids", ids({6})}, {"attention_mask", ids({2, 6})}}),
              HasSubstr("input 'input_ids': found i64 6, wanted i64"));
  EXPECT_THAT(refused({{"input_ids", ids({2, 6}, DType::kF32)}, {"attention_mask", ids({2, 6})}}),
              HasSubstr("found f32 2x6, wanted i64"));
}

TEST_F(Run, ArraysOfF32AreRoundedForAModelOf16Bits) {
  for (const auto type : {onnx::proto::TensorProto::BFLOAT16, onnx::proto::TensorProto::FLOAT16}) {
    auto model = onnx::empty_model(17);
    auto& graph = *model.mutable_graph();
    onnx::add_input(graph, "x", {2});
    graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    onnx::add_node(graph, "Identity", {"x"}, {"y"});
    onnx::set_type(*graph.add_output(), "y", {2});
    graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    save(model, plica_ / "half.onnx");
    Tensor x = *Tensor::zeros(DType::kF32, {2});
    x.as<float>()[0] = 1 + 0x1p-20F;
    x.as<float>()[1] = -2;
    ASSERT_TRUE(write_npz(plica_ / "x.npz", {{"x", x}}));
    const auto ended = plica_("run half.onnx --inputs x.npz -o out.npz");
    ASSERT_EQ(ended.code, 0) << ended.err;
    const Tensor y = (*read_npz(plica_ / "out.npz"))[0].second;
    const bool brain = type == onnx::proto::TensorProto::BFLOAT16;
    EXPECT_EQ(brain ? y.as<float>()[0] : to_float(y.as<F16>()[0]), 1);
    EXPECT_EQ(brain ? y.as<float>()[1] : to_float(y.as<F16>()[1]), -2);
  }
}

TEST_F(Run, ExplainListsStepsAndStructures) {
  const auto ended = plica_("explain m.onnx --shape input_ids=2x6 --json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json root = json::parse(ended.out);
  EXPECT_TRUE(root["structures"].is_object());
  EXPECT_GT(root["steps"].size(), 0u);
  for (const char* key : {"op", "kernel", "device", "outputs", "bytes", "declined"})
    EXPECT_TRUE(root["steps"][0].contains(key)) << key;
  EXPECT_TRUE(root["arena_bytes"].is_number() && root["weights_bytes"].is_number() && root["plan_ms"].is_number());
  EXPECT_THAT(plica_("explain m.onnx").err, HasSubstr("give --shape for: input_ids i64"));
}

TEST_F(Run, ExplainSaysWhyANodeIsNotFusedFurther) {
  auto model = onnx::empty_model(17);
  auto& graph = *model.mutable_graph();
  onnx::add_input(graph, "x", {2, 3, 4});
  onnx::add_node(graph, "Transpose", {"x"}, {"k"});
  onnx::add_node(graph, "MatMul", {"x", "k"}, {"s"}).set_name("scores");
  onnx::add_node(graph, "Softmax", {"s"}, {"w"}).set_name("weights");
  onnx::add_node(graph, "MatMul", {"w", "x"}, {"y"}).set_name("values");
  auto& perm = *graph.mutable_node(0)->add_attribute();
  perm.set_name("perm");
  perm.set_type(onnx::proto::AttributeProto::INTS);
  for (int axis : {0, 2, 1}) perm.add_ints(axis);
  for (const char* name : {"y", "w"}) onnx::set_type(*graph.add_output(), name, {-1, -1, -1});
  save(model, plica_ / "w.onnx");
  const auto ended = plica_("explain w.onnx --shape x=2x3x4 --why weights");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("in the plan: Softmax"));
  EXPECT_THAT(ended.out, HasSubstr("rule fuse_attention/attention: "));
  EXPECT_THAT(plica_("explain w.onnx --shape x=2x3x4 --outputs y --why weights").out,
              HasSubstr("pass fuse_attention: Softmax became part of another node"));
  EXPECT_THAT(plica_("explain w.onnx --shape x=2x3x4 --why nobody").err, HasSubstr("no node 'nobody'"));
}

TEST_F(Run, InfoTellsInputsAndMemory) {
  const auto ended = plica_("info m.onnx --json --shape input_ids=2x6");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json root = json::parse(ended.out);
  EXPECT_EQ(root["operators"]["Gather"], 3);
  EXPECT_EQ(root["weights"]["f32"], 33 * 4 + 40 * 4);
  EXPECT_TRUE(root["unsupported"].empty());
  EXPECT_GT(root["arena_bytes"].get<int64_t>(), 0);
  EXPECT_THAT(plica_("info m.onnx").out, HasSubstr("input_ids int64"));
}

TEST_F(Run, VerifyAgrees) {
  const auto ended = plica_("verify m.onnx --inputs in.npz");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("agrees    last_hidden_state f32 2x6x4"));
}

TEST_F(Run, BenchEndsWithTheJsonOfTheContract) {
  const auto ended = plica_("bench m.onnx in.npz in.npz --repeat 3 --steps --output out.npz");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const std::string text = ended.out.substr(0, ended.out.size() - 1);
  const json line = json::parse(text.substr(text.rfind('\n') + 1));
  EXPECT_EQ(line["ms"].size(), 3u);
  EXPECT_EQ(line["cpu_ms"].size(), 3u);
  for (const char* key : {"load_ms", "first_ms", "peak_rss_mb"}) EXPECT_GT(line[key].get<double>(), 0) << key;
  EXPECT_EQ(line["device"], Program::device());
  EXPECT_EQ(line.contains("host_us"), Program::device() != "cpu");
  ASSERT_EQ(line["steps"].size(), 2u);
  for (const char* key : {"op", "kernel", "ms", "gb_per_s", "tflop_per_s", "limit_percent"})
    EXPECT_TRUE(line["steps"][1][0].contains(key)) << key;
  EXPECT_THAT(text, HasSubstr("this machine at best"));
  EXPECT_EQ((*read_npz(plica_ / "out.npz"))[0].first, "0");
}

TEST_F(Run, ProfileWritesATraceOfTheSteps) {
  const auto ended = plica_("--skip-pass runs profile m.onnx --inputs in.npz -o trace.json");
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json trace = json::parse(get_file(plica_ / "trace.json"));
  const json explained = json::parse(plica_("--skip-pass runs explain m.onnx --inputs in.npz --json").out);
  std::map<int, double> last_end;  // by row
  size_t num_steps = 0;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const json& step = explained["steps"][num_steps++];
    EXPECT_EQ(event["name"], step["op"].get<std::string>() + "." + step["kernel"].get<std::string>());
    double& end = last_end.try_emplace(event["tid"].get<int>(), -1e3).first->second;
    EXPECT_GE(event["ts"].get<double>(), end - 1e-3);
    end = event["ts"].get<double>() + event["dur"].get<double>();
  }
  EXPECT_EQ(num_steps, explained["steps"].size());
}

TEST_F(Run, TestOnnxCountsAndGoesOn) {
  const auto put_set = [&](const std::string& folder, const Tensor& input) {
    std::filesystem::create_directories(plica_ / folder);
    for (const char* file : {"/input_0.pb", "/input_1.pb"})
      ASSERT_TRUE(onnx::write_tensor_file(plica_ / (folder + file), "x", input.view()));
  };
  ASSERT_EQ(plica_("run m.onnx --inputs in.npz -o out.npz").code, 0);
  Tensor wanted = (*read_npz(plica_ / "out.npz"))[0].second;
  for (const std::string name : {"good", "wrong", "broken"}) {
    put_set("t/deep/" + name + "/test_data_set_0", ids({2, 6}));
    ASSERT_TRUE(
        onnx::write_tensor_file(plica_ / ("t/deep/" + name + "/test_data_set_0/output_0.pb"), "y", wanted.view()));
    std::filesystem::copy_file(plica_ / "m.onnx", plica_ / ("t/deep/" + name + "/model.onnx"));
    wanted.as<float>()[3] += 1;
  }
  put_set("t/deep/good/error_data_set_0", ids({6}));
  put_file(plica_ / "t/deep/broken/model.onnx", "no model");
  const auto ended = plica_("test-onnx t");
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("FAILED  deep/wrong: test_data_set_0: output 'last_hidden_state' at [0, 0, 3]"));
  EXPECT_THAT(ended.out, testing::EndsWith("1 passed, 2 failed, 0 skipped\n"));
  put_file(plica_ / "known.txt", "# known\nwrong  its output is spoilt on purpose\ndeep/broken no model\n");
  const auto known = plica_("test-onnx t --expected-failures known.txt");
  EXPECT_EQ(known.code, 0);
  EXPECT_THAT(known.out, testing::EndsWith("1 passed, 0 failed, 2 skipped\n"));
}

}  // namespace
}  // namespace plica
