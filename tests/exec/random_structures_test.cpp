#include "tests/harness/random_structures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/scalar.h"
#include "runtime/core/shape.h"
#include "tests/exec/run_plan.h"
#include "tests/graph/evaluate_graph.h"

namespace plica {
namespace {

constexpr uint32_t kSeeds = 600;

// Attention and norms behind unscaled random weights amplify roundings, in some seeds a thousandfold: what the fused plan may be
// off f64 is measured by what the plain one is. A scale, mask or bias that is lost shows in the first digit.
constexpr double kTolerance = 5e-4, kTimesPlain = 4;

std::map<std::string, int> found_of(const Plan& plan, const std::map<std::string, int>& wanted) {
  std::map<std::string, int> found;
  for (const auto& [name, count] : wanted)
    if (const auto at = plan.structures.find(name); at != plan.structures.end()) found[name] = at->second;
  return found;
}

// The outputs of the graph with f64 in place of f32, by the reference kernels on the host; inputs are those of run_plan.
std::vector<Tensor> in_f64(std::string text) {
  for (size_t at = text.find("f32"); at != std::string::npos; at = text.find("f32", at)) text.replace(at, 3, "f64");
  const Graph graph = graph_of(text);
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs()) {
    const TensorType& type = graph.type(id);
    inputs.push_back(*Tensor::zeros(type.dtype, type.shape));
    for (int64_t i = 0; i < num_elements(type.shape); ++i) set_element(inputs.back(), i, static_cast<double>(i));
  }
  auto outputs = test::evaluate_graph(graph, inputs);
  EXPECT_TRUE(outputs) << to_string(outputs.error());
  return *outputs;
}

// The largest |a - b| / (1 + |b|); NaN equals NaN.
double error_of(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double worst = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double error = std::abs(a[i] - b[i]) / (1 + std::abs(b[i]));
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

TEST(RandomStructures, FusedGivesTheNumbersOfUnfusedAndEveryStructureIsFound) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const RandomStructures made = random_structures(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + made.text);
    const auto fused = plan_of(graph_of(made.text)), plain = plan_of(graph_of(made.text), {.reference = true});
    const std::vector<Tensor> found = run_plan(*fused), unfused = run_plan(*plain), wanted = in_f64(made.text);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t k = 0; k < wanted.size(); ++k) {
      const std::vector<double> exact = values_of(wanted[k]);
      const double allowed = kTimesPlain * error_of(values_of(unfused[k]), exact);
      ASSERT_LE(error_of(values_of(found[k]), exact), std::max(kTolerance, allowed)) << "output " << k;
    }
    ASSERT_EQ(found_of(*fused, made.structures), made.structures);
  }
}

}  // namespace
}  // namespace plica
