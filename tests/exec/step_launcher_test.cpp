#include "runtime/exec/step_launcher.h"

#include <gmock/gmock.h>

#include <cstring>

#include "ops/softmax.h"
#include "runtime/exec/plan_runner.h"
#include "tests/exec/run_plan.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

// A run of softmaxes that launches the kernel of each: it gives what the steps give one by one.
struct Member {
  const Kernel* kernel;
  std::shared_ptr<void> attrs;
};
int num_launches = 0;

bool knows_softmax(const RunStep& step) { return step.op == &softmax_op; }
size_t takes_two_or_more(std::span<const RunStep> steps) { return steps.size() < 2 ? 0 : steps.size(); }
size_t takes_pairs(std::span<const RunStep> steps) { return steps.size() < 2 ? 0 : 2; }
size_t some_scratch(std::span<const RunStep> steps) { return 1000 * steps.size(); }

Result<RunParts> keep_members(std::span<const RunStep> steps, ConstantStore& constants) {
  std::vector<Member> members;
  for (const RunStep& step : steps) members.push_back({step.kernel, step.op->attrs->clone(step.attrs)});
  const auto make = []() -> Result<ConstantPtr> {
    PLICA_TRY(Tensor pair, Tensor::zeros(DType::kF32, {2}));
    return make_constant(std::move(pair), "Pair()");
  };
  PLICA_TRY(ConstantPtr pair, constants.get("Pair()", make));
  return RunParts{std::make_shared<const std::vector<Member>>(std::move(members)), {std::move(pair)}, 8};
}

void launch_members(const RunArgs& args) {
  const auto& members = *static_cast<const std::vector<Member>*>(args.state);
  ++num_launches;
  EXPECT_EQ(members.size(), args.steps.size());
  EXPECT_NE(args.scratch, nullptr);
  ASSERT_THAT(args.constants, SizeIs(1));
  EXPECT_EQ(args.constants[0].type, (TensorType{DType::kF32, {2}, {}}));
  EXPECT_NE(args.constants[0].data, nullptr);
  EXPECT_NE(args.own, nullptr);
  for (size_t i = 0; i < args.steps.size(); ++i) {
    EXPECT_EQ(args.steps[i].stream, args.stream);
    members[i].kernel->run(members[i].attrs.get(), args.steps[i]);
  }
}

constexpr RunKernel kChain{.name = "chain",
                           .knows = knows_softmax,
                           .takes = takes_two_or_more,
                           .scratch_bytes = some_scratch,
                           .prepare = keep_members,
                           .run = launch_members};
constexpr RunKernel kPairs{.name = "pairs",
                           .knows = knows_softmax,
                           .takes = takes_pairs,
                           .scratch_bytes = some_scratch,
                           .prepare = keep_members,
                           .run = launch_members};

// Two chains that need nothing of each other, and steps in front of them, between them and behind.
constexpr std::string_view kTwoChains = R"(
    input x: f32 8x40
    input z: f32 8x40
    a = Trilu(x) {k=1}
    b = Softmax(a)
    c = Softmax(b)
    m = Trilu(z) {k=2}
    d = Softmax(c, m)
    e = Softmax(d)
    f = CumSum(m) {axis=1}
    g = CumSum(f) {axis=1}
    h = CumSum(g) {axis=0}
    i = CumSum(h) {axis=1}
    j = CumSum(i) {axis=0}
    k = CumSum(j) {axis=1}
    y = Softmax(Concat(e, k) {axis=0})
    output y
)";

std::shared_ptr<const Plan> plan_with(const RunKernel& kernel, PlanOptions options = {}) {
  options.run_kernels = {&kernel, 1};
  return plan_of(graph_of(kTwoChains), options);
}

TEST(StepLauncher, RunsGiveTheSameBits) {
  const auto alone = plan_of(graph_of(kTwoChains));
  ASSERT_THAT(alone->runs, SizeIs(0));
  const std::vector<double> wanted = values_of(run_plan(*alone)[0]);
  for (const RunKernel* kernel : {&kChain, &kPairs}) {
    const auto plan = plan_with(*kernel);
    ASSERT_FALSE(plan->runs.empty()) << plan->to_text();
    EXPECT_EQ(plan->steps.size(), alone->steps.size());
    EXPECT_THAT(plan->to_text(), HasSubstr("are one launch by " + std::string(kernel->name)));
    EXPECT_EQ(values_of(run_plan(*plan)[0]), wanted);
  }
}

// On a device with a queue all of it would stand in the output's memory.
TEST(StepLauncher, AChainInPlaceThatEndsInAnOutputHasARun) {
  constexpr std::string_view kText =
      "input x: f32 8x40\na = Trilu(x)\nb = Softmax(a)\nc = Softmax(b)\ny = Softmax(c)\noutput y\n";
  const auto plan = plan_of(graph_of(kText), {.run_kernels = {&kChain, 1}});
  ASSERT_THAT(plan->runs, SizeIs(1)) << plan->to_text();
  EXPECT_EQ(plan->runs[0].count, 2u);
  EXPECT_EQ(values_of(run_plan(*plan)[0]), values_of(run_plan(*plan_of(graph_of(kText)))[0]));
}

TEST(StepLauncher, RunsAreLeftOut) {
  EXPECT_THAT(plan_with(kChain, {.skip_passes = {"runs"}})->runs, SizeIs(0));
  EXPECT_THAT(plan_with(kChain, {.reference = true})->runs, SizeIs(0));
}

TEST(StepLauncher, RunsAreLeftOutWhereMemoryIsShort) {
  const auto whole = plan_with(kChain), alone = plan_with(kChain, {.skip_passes = {"runs"}});
  ASSERT_GT(whole->arena_bytes, alone->arena_bytes);
  const auto limited = plan_with(kChain, {.memory_limit_bytes = alone->arena_bytes});
  EXPECT_THAT(limited->runs, SizeIs(0));
  EXPECT_EQ(limited->arena_bytes, alone->arena_bytes);
  EXPECT_THAT(plan_with(kChain, {.memory_limit_bytes = whole->arena_bytes})->runs, SizeIs(1));
}

TEST(StepLauncher, ALaunchAsStepsGraphsAndMarkedIsTheSame) {
  if (tests_the_cpu()) GTEST_SKIP() << "on the CPU steps run one by one";
  const auto plan = plan_with(kChain);
  ASSERT_THAT(plan->runs, SizeIs(1));
  EXPECT_EQ(plan->runs[0].count, 4u);
  EXPECT_THAT(plan->waits, SizeIs(plan->steps.size())) << "it is meant to have branches";
  std::vector<float> x(320, 1), z(320, 2), y(320 * 2), first;
  const auto runner = make_runner(test_context());
  ASSERT_TRUE(runner);
  ASSERT_TRUE((*runner)->prepare(plan));
  ASSERT_TRUE((*runner)->bind_input(0, x.data()));
  ASSERT_TRUE((*runner)->bind_input(1, z.data()));
  ASSERT_TRUE((*runner)->bind_output(0, y.data()));
  num_launches = 0;
  for (int i = 0; i < 5; ++i) {
    std::fill(y.begin(), y.end(), -1.0f);
    ASSERT_TRUE((*runner)->run());
    if (i == 0) first = y;
    EXPECT_EQ(y, first) << "run " << i;
  }
  EXPECT_EQ(num_launches, 2);  // once queued, once captured

  std::vector<double> times(2 * plan->steps.size());
  ASSERT_TRUE((*runner)->trace(times));
  const size_t begin = plan->runs[0].first, last = plan->runs[0].last();
  EXPECT_LT(times[2 * begin], times[2 * begin + 1]);
  for (size_t i = 2 * begin + 2; i < 2 * last + 2; ++i) EXPECT_EQ(times[i], times[2 * begin + 1]);

  std::vector<double> alone(plan->steps.size());
  num_launches = 0;
  ASSERT_TRUE((*runner)->run(alone));
  EXPECT_THAT(alone, Each(testing::Gt(0)));  // each of the run's too
  EXPECT_EQ(y, first);
}

}  // namespace
}  // namespace plica
