#include "tests/harness/random_structures.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/exec/run_plan.h"

namespace plica {
namespace {

constexpr uint32_t kSeeds = 300;

// Norms behind unscaled random weights amplify the rounding of both plans; a scale, mask or bias that is lost shows in the
// second digit.
constexpr double kTolerance = 5e-4;

std::map<std::string, int> found_of(const Plan& plan, const std::map<std::string, int>& wanted) {
  std::map<std::string, int> found;
  for (const auto& [name, count] : wanted)
    if (const auto at = plan.structures.find(name); at != plan.structures.end()) found[name] = at->second;
  return found;
}

TEST(RandomStructures, FusedGivesTheNumbersOfUnfusedAndEveryStructureIsFound) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const RandomStructures made = random_structures(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + made.text);
    const auto fused = plan_of(graph_of(made.text)), plain = plan_of(graph_of(made.text), {.reference = true});
    const std::vector<double> a = values_of(run_plan(*fused)[0]), b = values_of(run_plan(*plain)[0]);
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < b.size(); ++i) ASSERT_NEAR(a[i], b[i], kTolerance * (1 + std::abs(b[i]))) << "element " << i;
    ASSERT_EQ(found_of(*fused, made.structures), made.structures);
  }
}

}  // namespace
}  // namespace plica
