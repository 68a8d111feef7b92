#include "runtime/exec/stored_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/pipeline.h"
#include "graph/text.h"
#include "tests/exec/run_plan.h"
#include "tests/harness/text_source.h"

namespace plica {
namespace {

using testing::HasSubstr;
using testing::Not;

// A product with a residual: what is given is read twice.
constexpr const char* kLayer = R"(
    input x: f32 {L}x16
    input ids: i64 {L}
    constant w: f32 16x16
    y = MatMul(x, w, _, x, _)
    n = Cast(ids) {to=f32}
    output y
    output n
)";

Signature signature_of(const Source& source, int64_t length) {
  Signature signature;
  for (const Port& port : source.inputs) {
    Shape shape = port.shape;
    shape[0] = length;
    signature.inputs.push_back({port.dtype, shape, {}});
  }
  signature.values.resize(source.inputs.size());
  return signature;
}

Graph specialised(const Source& source, int64_t length) {
  auto made = source.specialise(signature_of(source, length));
  EXPECT_TRUE(made) << to_string(made.error());
  return std::get<Graph>(*std::move(made));
}

TEST(StoredEdges, AreFloatsOfThePrecisionAlone) {
  const Source source = with_stored_edges(text_source(kLayer), DType::kBF16);
  EXPECT_EQ(source.inputs[0].dtype, DType::kBF16);
  EXPECT_EQ(source.inputs[1].dtype, DType::kI64);
  EXPECT_EQ(source.outputs[0].dtype, DType::kBF16);
  const Graph graph = specialised(source, 5);
  EXPECT_TRUE(graph.verify());
  EXPECT_EQ(to_string(graph.type(graph.inputs()[0])), "bf16 5x16");
  EXPECT_EQ(to_string(graph.type(graph.outputs()[0])), "bf16 5x16");
  EXPECT_EQ(to_string(graph.type(graph.outputs()[1])), "bf16 5");
}

TEST(StoredEdges, CostNoStepWhereThePrecisionStoresThem) {
  ConstantStore constants;
  const auto text_in = [&](const Source& source) {
    Graph graph = specialised(source, 5);
    PipelineOptions options;
    options.precision = Precision::kBf16;
    const auto report = run_pipeline(graph, options, constants);
    EXPECT_TRUE(report) << to_string(report.error());
    return to_text(graph);
  };
  const Source source = select_outputs(text_source(kLayer), {0});
  EXPECT_THAT(text_in(source), HasSubstr("Map("));
  EXPECT_THAT(text_in(with_stored_edges(source, DType::kBF16)), Not(HasSubstr("Map(")));
}

TEST(StoredEdges, GiveTheNumbersOfTheFile) {
  const Source source = text_source(kLayer);
  const std::vector<Tensor> wanted = run_plan(*plan_of(specialised(source, 3)));
  const std::vector<Tensor> found = run_plan(*plan_of(specialised(with_stored_edges(source, DType::kBF16), 3)));
  ASSERT_EQ(found[0].dtype(), DType::kBF16);
  const std::vector<double> a = values_of(found[0]), b = values_of(wanted[0]);
  for (size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(a[i], b[i], 0.004 * std::abs(b[i])) << i;
  EXPECT_EQ(values_of(found[1]), values_of(wanted[1]));
}

TEST(StoredEdges, RefuseAnInputThatDecidesShapes) {
  const Source source = with_stored_edges(text_source(kLayer), DType::kBF16);
  Signature signature = signature_of(source, 3);
  signature.values[0] = *Tensor::zeros(DType::kBF16, {3, 16});
  const auto refused = source.specialise(signature);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnsupported);
  EXPECT_THAT(refused.error().what(), HasSubstr("input 'x' decides shapes"));
}

TEST(StoredEdges, AreThoseOfTheResidualStream) {
  EXPECT_EQ(edge_dtype(Precision::kFile), std::nullopt);
  EXPECT_EQ(edge_dtype(Precision::kTf32x3), DType::kF32);
  EXPECT_EQ(edge_dtype(Precision::kBf16Mixed), DType::kF32);
  EXPECT_EQ(edge_dtype(Precision::kF16), DType::kF16);
}

}  // namespace
}  // namespace plica
