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

}  // namespace
}  // namespace plica
