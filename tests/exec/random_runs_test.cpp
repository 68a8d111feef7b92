#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "tests/exec/run_plan.h"
#include "tests/harness/random_structures.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

constexpr uint32_t kSeeds = 150;

std::mt19937 random_source;
bool chance(unsigned percent) { return random_source() % 100 < percent; }

// A kernel that knows some operators, takes some steps, and runs them by their own kernels, in the order of `order`: some of them
// late, as far as a run may do that and others need nothing of them.
struct Member {
  const Kernel* kernel;
  std::shared_ptr<void> attrs;
};
struct LateRun {
  std::vector<Member> members;
  std::vector<size_t> order;
};

uint32_t known_operators = 0;
bool knows_some(const RunStep& step) {
  return (known_operators >> std::hash<std::string_view>{}(step.op->name) % 32 & 1) != 0;
}

size_t takes_some(std::span<const RunStep> steps) {
  if (chance(30)) return 0;
  return chance(50) ? steps.size() : 1 + random_source() % steps.size();
}

bool share(const std::vector<int>& a, const std::vector<int>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](int memory) { return memory >= 0 && std::find(b.begin(), b.end(), memory) != b.end(); });
}

bool needs_order(const RunStep& a, const RunStep& b) {
  return share(a.out, b.in) || share(a.in, b.out) || share(a.out, b.out);
}

// How many steps late step i may be.
size_t most_late(std::span<const RunStep> steps, size_t i) {
  size_t late = 0;
  while (late < kRunLag && i + late + 1 < steps.size() && !needs_order(steps[i], steps[i + late + 1])) ++late;
  return late;
}

Result<RunParts> plan_late(std::span<const RunStep> steps, ConstantStore&) {
  auto run = std::make_shared<LateRun>();
  for (const RunStep& step : steps) run->members.push_back({step.kernel, step.op->attrs->clone(step.attrs)});
  for (size_t i = 0; i < steps.size();) {
    const size_t late = most_late(steps, i);
    for (size_t k = 1; k <= late; ++k) run->order.push_back(i + k);
    run->order.push_back(i);
    i += late + 1;
  }
  return RunParts{std::move(run), {}, 0};
}

void run_late(const RunArgs& args) {
  const auto& run = *static_cast<const LateRun*>(args.state);
  for (size_t i : run.order) run.members[i].kernel->run(run.members[i].attrs.get(), args.steps[i]);
}

constexpr RunKernel kLate{.name = "late",
                          .knows = knows_some,
                          .takes = takes_some,
                          .scratch_bytes = nullptr,
                          .prepare = plan_late,
                          .run = run_late};

// On the host nobody asks a run kernel: the steps themselves are put in its order.
size_t make_late(Plan& plan) {
  size_t num_late = 0;
  for (const StepRun& run : plan.runs) {
    if (run.kernel->name != kLate.name) continue;
    const std::vector<Step> steps(plan.steps.begin() + static_cast<std::ptrdiff_t>(run.first),
                                  plan.steps.begin() + static_cast<std::ptrdiff_t>(run.first + run.count));
    const auto& order = static_cast<const LateRun*>(run.state.get())->order;
    for (size_t i = 0; i < run.count; ++i) {
      num_late += order[i] != i;
      if (tests_the_cpu()) plan.steps[run.first + i] = steps[order[i]];
    }
  }
  return num_late;
}

TEST(RandomRuns, ThatWorkLateGiveTheSameBits) {
  size_t num_runs = 0, num_late = 0;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    const RandomStructures made = random_structures(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + made.text);
    random_source.seed(seed);
    known_operators = random_source() | random_source();
    const auto alone = plan_of(graph_of(made.text));
    Plan plan = *plan_of(graph_of(made.text), {.run_kernels = {&kLate, 1}});
    num_runs += plan.runs.size();
    num_late += make_late(plan);
    const std::vector<Tensor> wanted = run_plan(*alone), found = run_plan(plan);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t k = 0; k < wanted.size(); ++k)
      ASSERT_EQ(std::memcmp(found[k].data(), wanted[k].data(), wanted[k].num_bytes()), 0) << "output " << k;
  }
  EXPECT_GT(num_runs, kSeeds);
  EXPECT_GT(num_late, kSeeds / 2);
}

}  // namespace
}  // namespace plica
