#include <gtest/gtest.h>

#include <string>

#include "ops/concat.h"
#include "ops/constant.h"
#include "ops/gather.h"
#include "ops/mat_mul.h"
#include "ops/pointwise.h"
#include "tests/exec/run_plan.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

constexpr size_t kMergedBytes = 256 * 256 * sizeof(float);

// A weight as a file has it: named by its place there.
ValueId add_weight(Graph& graph, const std::string& key, int64_t rows, int64_t columns) {
  Tensor tensor = *Tensor::zeros(DType::kF32, {rows, columns});
  for (int64_t i = 0; i < rows * columns; ++i) tensor.as<float>()[i] = static_cast<float>(i * 7 % 11 - 5) / 64;
  return graph.add_constant(make_constant(std::move(tensor), key));
}

ValueId add(Graph& graph, const OpDef& op, Attrs attrs, std::vector<ValueId> inputs) {
  return graph.node(*graph.add_node(op, std::move(attrs), std::move(inputs))).outputs[0];
}

// Two projections of one input, which become one; `shows_weights`: the sum of both side by side is another output.
Graph projections(int64_t rows, bool shows_weights = false) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {rows, 256}, {}});
  const ValueId a = add_weight(graph, "w0", 256, 128), b = add_weight(graph, "w1", 256, 128);
  graph.add_output("p", add(graph, mat_mul_op, ops::MatMul{}, {x, a}));
  graph.add_output("q", add(graph, mat_mul_op, ops::MatMul{}, {x, b}));
  if (!shows_weights) return graph;
  const ValueId both = add(graph, concat_op, ops::Concat{1}, {a, b});
  graph.add_output("s", add(graph, *find_op("Add"), ops::Pointwise{}, {both, both}));
  return graph;
}

// Rows of two tables one behind the other.
Graph lookup(int64_t rows) {
  Graph graph;
  const ValueId ids = graph.add_input("ids", {DType::kI64, {3}, {}});
  const ValueId a = add_weight(graph, "w0", rows, 128), b = add_weight(graph, "w1", rows, 128);
  graph.add_output("y", add(graph, gather_op, ops::Gather{0}, {add(graph, concat_op, ops::Concat{0}, {a, b}), ids}));
  return graph;
}

std::shared_ptr<const Plan> plan_in(ConstantStore& constants, Graph graph, const PlanOptions& options = {}) {
  auto plan = make_plan(std::move(graph), options, constants);
  EXPECT_TRUE(plan) << to_string(plan.error());
  return *plan;
}

void expect_close(const std::vector<Tensor>& found, const std::vector<Tensor>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    const std::vector<double> a = values_of(found[i]), b = values_of(wanted[i]);
    for (size_t j = 0; j < b.size(); ++j) ASSERT_NEAR(a[j], b[j], 1e-4 * (1 + std::abs(b[j]))) << i << " " << j;
  }
}

class DeferredConstant : public testing::Test {
 protected:
  void SetUp() override {
    if (!tests_the_cpu()) GTEST_SKIP() << "of the CPU's kernels";
  }
};

TEST_F(DeferredConstant, OfMergedProjectionsOnlyThePackedCopyStays) {
  ConstantStore constants;
  const auto plan = plan_in(constants, projections(3));
  EXPECT_EQ(constants.num_bytes(), kMergedBytes);
  EXPECT_EQ(plan->steps[0].in[1].constant->data, nullptr);
  EXPECT_EQ(plan->weights_bytes, kMergedBytes);
  const size_t num_made = constants.num_made();
  plan_in(constants, projections(7));
  EXPECT_EQ(constants.num_made(), num_made);
  EXPECT_EQ(constants.num_bytes(), kMergedBytes);
  expect_close(run_plan(*plan), run_plan(*plan_of(projections(3), {.reference = true})));
}

TEST_F(DeferredConstant, AnotherReaderHasTheValue) {
  ConstantStore constants;
  const auto plan = plan_in(constants, projections(256, true));
  expect_close(run_plan(*plan), run_plan(*plan_of(projections(256, true), {.reference = true})));
}

TEST_F(DeferredConstant, AKernelThatPacksNothingReadsOneCopy) {
  ConstantStore constants;
  const auto plan = plan_in(constants, lookup(256));
  EXPECT_EQ(constants.num_bytes(), size_t{512 * 128} * sizeof(float));
  EXPECT_NE(plan->steps[0].in[0].constant->data, nullptr);
  EXPECT_EQ(plan_in(constants, lookup(256))->steps[0].in[0].constant, plan->steps[0].in[0].constant);
  expect_close(run_plan(*plan), run_plan(*plan_of(lookup(256), {.reference = true})));
}

}  // namespace
}  // namespace plica
