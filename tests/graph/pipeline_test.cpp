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

}  // namespace
}  // namespace plica
