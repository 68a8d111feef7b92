#include "plica/session.h"

#include <gmock/gmock.h>

#include <cstring>
#include <numeric>

#include "ops/transpose.h"
#include "runtime/api/model_state.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

using testing::HasSubstr;

// y = x transposed; x is any x 3.
Source transposer() {
  Source source;
  source.inputs = {{"x", DType::kF32, true, {-1, 3}, {"rows", ""}}};
  source.outputs = {{"y", DType::kF32, true, {3, -1}, {"", "rows"}}};
  source.specialise = [](const Signature& signature) -> Result<std::variant<Graph, NeedsValues>> {
    Graph graph;
    const ValueId x = graph.add_input("x", signature.inputs[0]);
    PLICA_TRY(const NodeId node, graph.add_node(transpose_op, ops::Transpose{{1, 0}}, {x}, "t"));
    graph.add_output("y", graph.node(node).outputs[0]);
    return std::variant<Graph, NeedsValues>(std::move(graph));
  };
  return source;
}

Model transposing_model(LoadOptions options = {}) {
  options.device = test_device();
  return *Model::State::make(transposer(), std::move(options));
}

Tensor iota(Shape shape) {
  Tensor tensor = *Tensor::zeros(DType::kF32, std::move(shape));
  std::iota(tensor.as<float>(), tensor.as<float>() + num_elements(tensor.shape()), 0.f);
  return tensor;
}

std::vector<float> values(const TensorView& view) {
  const auto* data = static_cast<const float*>(view.data);
  return {data, data + num_elements(view.type.shape)};
}

class SessionTest : public testing::Test {
 protected:
  std::string bind_error(size_t index, const TensorView& view) {
    const Status status = session.bind(index, view);
    return status ? "" : to_string(status.error());
  }

  Model model = transposing_model();
  Session session = *model.session();
};

TEST_F(SessionTest, RunsWhatIsBound) {
  const Tensor x = iota({2, 3});
  ASSERT_TRUE(session.bind(0, x.view()));
  ASSERT_TRUE(session.run());
  EXPECT_EQ(session.outputs()[0].type.shape, (Shape{3, 2}));
  EXPECT_EQ(values(session.outputs()[0]), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST_F(SessionTest, ReadsInPlaceAtEachRun) {
  Tensor x = iota({1, 3});
  ASSERT_TRUE(session.bind(0, x.view()));
  ASSERT_TRUE(session.run());
  x.as<float>()[1] = 50;
  ASSERT_TRUE(session.run());
  EXPECT_EQ(values(session.outputs()[0]), (std::vector<float>{0, 50, 2}));
}

TEST_F(SessionTest, FollowsNewShapesBackAndForth) {
  for (int64_t rows : {2, 5, 0, 2, 1}) {
    const Tensor x = iota({rows, 3});
    ASSERT_TRUE(session.bind(0, x.view()));
    ASSERT_TRUE(session.run());
    EXPECT_EQ(session.outputs()[0].type.shape, (Shape{3, rows}));
    EXPECT_NE(session.outputs()[0].data, nullptr);
  }
}

TEST_F(SessionTest, StridedAndAskewInputsAreStaged) {
  const Tensor x = iota({3, 2});
  ASSERT_TRUE(session.bind(0, {{DType::kF32, {2, 3}, {1, 2}}, const_cast<void*>(x.data())}));
  ASSERT_TRUE(session.run());
  EXPECT_EQ(values(session.outputs()[0]), values(x.view()));

  std::vector<char> bytes(13);
  std::memcpy(bytes.data() + 1, x.data(), 12);
  ASSERT_TRUE(session.bind(0, {{DType::kF32, {1, 3}, {}}, bytes.data() + 1}));
  ASSERT_TRUE(session.run());
  EXPECT_EQ(values(session.outputs()[0]), (std::vector<float>{0, 1, 2}));
}

TEST_F(SessionTest, WritesIntoBoundOutputs) {
  const Tensor x = iota({2, 3});
  float y[6] = {};
  ASSERT_TRUE(session.bind(0, x.view()));
  ASSERT_TRUE(session.bind_output(0, {{DType::kF32, {3, 2}, {}}, y}));
  ASSERT_TRUE(session.run());
  EXPECT_EQ(session.outputs()[0].data, y);
  EXPECT_EQ(y[1], 3);
  ASSERT_TRUE(session.bind_output(0, {}));
  ASSERT_TRUE(session.run());
  EXPECT_NE(session.outputs()[0].data, y);
}

TEST_F(SessionTest, RefusesWrongOutputs) {
  Tensor x = iota({2, 3});
  float y[6] = {};
  ASSERT_TRUE(session.bind(0, x.view()));
  ASSERT_TRUE(session.bind_output(0, {{DType::kF32, {2, 3}, {}}, y}));
  EXPECT_THAT(session.run().error().what(), HasSubstr("output 'y': bound memory is f32 2x3, the run makes f32 3x2"));
  ASSERT_TRUE(session.bind_output(0, {{DType::kF32, {3, 2}, {}}, x.data()}));
  EXPECT_THAT(session.run().error().what(), HasSubstr("overlaps that of input 'x', wanted memory"));
  EXPECT_THAT(session.bind_output(0, {{DType::kF32, {3, 2}, {1, 3}}, y}).error().what(), HasSubstr("wanted it dense"));
  EXPECT_THAT(session.bind_output(1, {}).error().what(), HasSubstr("output 1, wanted less than 1"));
}

// By a byte, at either end; beside each other they are as good as apart.
TEST_F(SessionTest, RefusesOutputsOverInputs) {
  std::vector<float> memory(18);
  ASSERT_TRUE(session.bind(0, {{DType::kF32, {2, 3}, {}}, &memory[6]}));
  for (const size_t at : {1, 6, 11}) {
    ASSERT_TRUE(session.bind_output(0, {{DType::kF32, {3, 2}, {}}, &memory[at]}));
    EXPECT_THAT(session.run().error().what(), HasSubstr("overlaps that of input 'x'")) << at;
  }
  for (const size_t at : {0, 12}) {
    ASSERT_TRUE(session.bind_output(0, {{DType::kF32, {3, 2}, {}}, &memory[at]}));
    EXPECT_TRUE(session.run()) << at;
  }
  ASSERT_TRUE(session.bind(0, {{DType::kF32, {0, 3}, {}}, &memory[3]}));
  ASSERT_TRUE(session.bind_output(0, {{DType::kF32, {3, 0}, {}}, &memory[3]}));
  EXPECT_TRUE(session.run());
}

TEST_F(SessionTest, RefusesWrongInputs) {
  const Tensor x = iota({2, 4});
  EXPECT_EQ(bind_error(0, x.view()), "invalid input: input 'x': found f32 2x4, wanted f32 rows x 3");
  EXPECT_EQ(bind_error(0, {{DType::kI64, {2, 3}, {}}, nullptr}),
            "invalid input: input 'x': found i64 2x3, wanted f32 rows x 3");
  EXPECT_EQ(bind_error(0, {{DType::kF32, {3}, {}}, nullptr}),
            "invalid input: input 'x': found f32 3, wanted f32 rows x 3");
  EXPECT_THAT(bind_error(0, {{DType::kF32, {2, 3}, {}}, nullptr}), HasSubstr("input 'x': its data is null"));
  EXPECT_THAT(bind_error(4, x.view()), HasSubstr("input 4, wanted less than 1"));
  EXPECT_THAT(session.run().error().what(), HasSubstr("input 'x' is missing, wanted f32 rows x 3"));
}

TEST_F(SessionTest, MapFormCopiesResults) {
  const auto first = session.run({{"x", iota({2, 3})}});
  ASSERT_TRUE(first);
  ASSERT_TRUE(session.run({{"x", iota({1, 3})}}));
  EXPECT_EQ(values(first->at("y").view()), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_THAT(session.run({}).error().what(), HasSubstr("input 'x' is missing"));
  EXPECT_THAT(session.run({{"ids", iota({1, 3})}}).error().what(),
              HasSubstr("input 'ids' is not of this model, wanted 'x'"));
}

TEST_F(SessionTest, ForecastIsTheArenaOfTheRun) {
  const auto bytes = model.forecast({{100, 3}});
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, tests_the_cpu() ? 1280u : 2560u);  // copies of inputs lie in the arena too
  EXPECT_THAT(model.forecast({}).error().what(), HasSubstr("0 input shapes, wanted 1"));
  EXPECT_THAT(model.forecast({{3}}).error().what(), HasSubstr("wanted f32 rows x 3"));
}

TEST(Model, MemoryLimitIsAnErrorBeforeTheRun) {
  const size_t limit = *transposing_model().forecast({{64, 3}}), wanted = *transposing_model().forecast({{100, 3}});
  const Model model = transposing_model({.memory_limit_bytes = limit});
  EXPECT_TRUE(model.forecast({{64, 3}}));
  const auto bytes = model.forecast({{100, 3}});
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code(), Code::kOutOfMemory);
  EXPECT_THAT(bytes.error().what(),
              HasSubstr("the arena needs " + std::to_string(wanted) + " bytes, the memory limit is " +
                        std::to_string(limit) + "; rows 64 would fit"));
  const Model tiny = transposing_model({.memory_limit_bytes = 10});
  EXPECT_THAT(tiny.forecast({{100, 3}}).error().what(), HasSubstr("nothing smaller fits"));
}

TEST(Model, SaysWhatItDoesNotSupport) {
  const auto error = [](LoadOptions options) { return to_string(Model::State::make(transposer(), options).error()); };
  EXPECT_THAT(error({.device = "cuda:99"}), testing::AnyOf(HasSubstr("no CUDA backend"), HasSubstr("can use")));
  EXPECT_THAT(error({.device = "tpu"}), HasSubstr("device 'tpu', wanted cpu or cuda:N"));
  EXPECT_THAT(error({.precision = Precision::kBf16}), HasSubstr("unsupported"));
  EXPECT_THAT(error({.num_threads = -1}), HasSubstr("-1 threads"));
}

TEST(Model, LogsItsPlans) {
  std::vector<std::string> lines;
  const Model model = transposing_model({.log = [&](LogLevel, std::string_view line) { lines.emplace_back(line); }});
  ASSERT_TRUE(model.forecast({{2, 3}}));
  ASSERT_TRUE(model.forecast({{2, 3}}));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr(tests_the_cpu() ? "planned 2x3: 1 steps, an arena of 256 bytes"
                                                  : "planned 2x3: 1 steps, an arena of 512 bytes"));
}

}  // namespace
}  // namespace plica
