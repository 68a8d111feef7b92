#include "graph/pipeline.h"

#include <gmock/gmock.h>

#include "graph/text.h"

namespace plica {
namespace {

PipelineOptions verified() {
  PipelineOptions options;
  options.verify = true;
  return options;
}

TEST(Pipeline, ReportsEveryPass) {
  auto graph = parse_graph("input x: f32 3\ndead = Neg(x)\ny = Abs(x)\noutput y\n");
  ConstantStore constants;
  auto report = run_pipeline(*graph, verified(), constants);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->passes.size(), pipeline().size());
}

TEST(Pipeline, NamesThePassesThatCanBeSkipped) {
  auto graph = parse_graph("input x: f32 3\ny = Abs(x)\noutput y\n");
  ConstantStore constants;
  PipelineOptions options;
  options.skip = {"fuse_everything"};
  auto report = run_pipeline(*graph, options, constants);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), Code::kInvalidInput);
  EXPECT_THAT(report.error().what(), testing::HasSubstr("fuse_everything"));
}

TEST(Pipeline, StoresAsThePrecisionWants) {
  const char* text =
      "input x: f32 3x16\nconstant w: f32 16x16\na = Sigmoid(MatMul(x, w))\ny = MatMul(Mul(a, x), w)\noutput y\n";
  ConstantStore constants;
  PipelineOptions options = verified();
  for (const Precision precision : {Precision::kFile, Precision::kBf16}) {
    auto graph = parse_graph(text);
    options.precision = precision;
    auto report = run_pipeline(*graph, options, constants);
    ASSERT_TRUE(report) << to_string(report.error());
    const bool stores = precision != Precision::kFile;
    EXPECT_EQ(report->passes.size(), pipeline().size() + stores);
    EXPECT_EQ(to_text(*graph).find("bf16 16x16") != std::string::npos, stores) << to_text(*graph);
  }
  const size_t num_made = constants.num_made();
  auto longer = parse_graph("input x: f32 7x16\nconstant w: f32 16x16\ny = MatMul(x, w)\noutput y\n");
  ASSERT_TRUE(run_pipeline(*longer, options, constants));
  EXPECT_EQ(constants.num_made(), num_made) << "another length converts no weight";
}

// Triangle multiplication as exporters write it.
constexpr const char* kTriangleMultiplication = R"(input pair: f32 1x16x16x64
input mask: f32 1x16x16x1
constant g: f32 64
constant b: f32 64
constant u: f32 64x64
constant v: f32 64x64
constant s: f32 64x64
constant t: f32 64x64
constant w: f32 64x64
x = LayerNorm(pair, g, b)
l = Mul(Mul(mask, Sigmoid(Add(MatMul(x, u), b))), Add(MatMul(x, v), g))
r = Mul(Mul(mask, Sigmoid(Add(MatMul(x, s), b))), Add(MatMul(x, t), g))
p = Transpose(MatMul(Transpose(l) {perm=[0,3,1,2]}, Transpose(r) {perm=[0,3,2,1]})) {perm=[0,2,3,1]}
o = Add(MatMul(LayerNorm(p, g, b), w), b)
y = Add(pair, Mul(Sigmoid(Add(MatMul(x, w), b)), o))
output y
)";

TEST(Pipeline, FormsGatedProductsWhereTheyHaveAFastKernel) {
  ConstantStore constants;
  PipelineOptions options = verified();
  options.device = Device::kCuda;
  for (const int compute_capability : {80, 90})
    for (const Precision precision :
         {Precision::kF32, Precision::kTf32, Precision::kTf32x3, Precision::kBf16, Precision::kBf16Mixed}) {
      auto graph = parse_graph(kTriangleMultiplication);
      ASSERT_TRUE(graph) << to_string(graph.error());
      options.precision = precision;
      options.compute_capability = compute_capability;
      auto report = run_pipeline(*graph, options, constants);
      ASSERT_TRUE(report) << to_string(report.error());
      int num_gated = 0, num_norms = 0;
      for (NodeId id : graph->order()) {
        num_gated += graph->node(id).op == &gated_mat_mul_op;
        num_norms += graph->node(id).op == &layer_norm_op;
      }
      const bool forms = compute_capability == 90 && precision != Precision::kF32;
      const bool norms_inside = forms && precision != Precision::kBf16Mixed;
      EXPECT_EQ(num_gated, forms ? 2 : 0) << to_text(*graph);
      EXPECT_EQ(num_norms, norms_inside ? 0 : 2) << to_text(*graph);
      EXPECT_EQ(report->structures.at("layer_norm"), 2);
      EXPECT_EQ(report->structures["triangle_multiplication"], 1) << to_text(*graph);
    }
}

// What saves memory at the cost of time runs where it costs none, or where a limit asks for it.
TEST(Pipeline, SavesMemoryWhereThatCostsNoTime) {
  const auto runs = [](Device device, Precision precision, bool save_memory) {
    auto graph = parse_graph("input x: f32 2x2\noutput x\n");
    ConstantStore constants;
    PipelineOptions options = verified();
    options.device = device;
    options.precision = precision;
    options.save_memory = save_memory;
    const auto report = run_pipeline(*graph, options, constants);
    EXPECT_TRUE(report) << to_string(report.error());
    std::string names;
    for (const PassRun& run : report->passes)
      if (!run.skipped && (run.name == "tile_rows" || run.name == "cut_norms")) names.append(run.name).append(" ");
    return names;
  };
  EXPECT_EQ(runs(Device::kCpu, Precision::kFile, false), "tile_rows ");
  EXPECT_EQ(runs(Device::kCuda, Precision::kFile, false), "cut_norms ");
  EXPECT_EQ(runs(Device::kCuda, Precision::kF32, false), "cut_norms ");
  EXPECT_EQ(runs(Device::kCuda, Precision::kF32, true), "tile_rows cut_norms ");
  for (const Precision precision : {Precision::kTf32, Precision::kTf32x3, Precision::kBf16})
    EXPECT_EQ(runs(Device::kCuda, precision, false), "");
}

}  // namespace
}  // namespace plica
