#include "tests/exec/run_plan.h"

#include <gtest/gtest.h>

#include <cstring>

#include "graph/text.h"
#include "ops/element.h"
#include "runtime/core/dtype.h"
#include "runtime/device/arena.h"
#include "runtime/exec/executor.h"
#include "tests/harness/test_device.h"

namespace plica {

Graph graph_of(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph) << to_string(graph.error());
  return *std::move(graph);
}

std::shared_ptr<const Plan> plan_of(Graph graph, const PlanOptions& options) {
  static ConstantStore constants;
  auto plan = make_plan(std::move(graph), on_test_device(options), constants);
  EXPECT_TRUE(plan) << to_string(plan.error());
  return *plan;
}

std::vector<Tensor> run_plan(const Plan& plan) {
  std::vector<Tensor> inputs;
  for (const TensorType& type : plan.inputs) {
    inputs.push_back(*Tensor::zeros(type.dtype, type.shape));
    visit_dtype(type.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < num_elements(type.shape); ++i)
        inputs.back().as<T>()[i] = narrow<T>(static_cast<Wide<T>>(i));
    });
  }
  if (!tests_the_cpu()) {
    auto outputs = run_on_test_device(std::make_shared<const Plan>(plan), inputs);
    EXPECT_TRUE(outputs) << to_string(outputs.error());
    return *outputs;
  }
  Arena arena;
  EXPECT_TRUE(arena.grow(plan.arena_bytes + 1));
  std::memset(arena.base(), 0xff, arena.num_bytes());  // NaN: nothing may be read before it is written
  Executor executor(std::make_shared<const Plan>(plan), arena.base());
  for (size_t i = 0; i < inputs.size(); ++i) executor.bind_input(i, inputs[i].data());
  const Status status = executor.run();
  EXPECT_TRUE(status) << to_string(status.error());
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    outputs.push_back(*Tensor::zeros(plan.outputs[i].dtype, plan.outputs[i].shape));
    std::memcpy(outputs.back().data(), executor.output(i), outputs.back().num_bytes());
  }
  return outputs;
}

std::string steps_of(const Plan& plan) {
  std::string text;
  for (const Step& step : plan.steps) {
    text.append(text.empty() ? "" : " ").append(step.op->name);
    text.append(".").append(step.kernel->name);
  }
  return text;
}

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  visit_dtype(tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < num_elements(tensor.shape()); ++i)
      values.push_back(static_cast<double>(widen(tensor.as<T>()[i])));
  });
  return values;
}

}  // namespace plica
