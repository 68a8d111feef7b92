#include "tools/step_times.h"

#include <gmock/gmock.h>

#include "ops/softmax.h"

namespace plica {
namespace {

using testing::HasSubstr;

Plan three_steps() {
  static constexpr Kernel kKernel{.name = "row"};
  Plan plan;
  for (int i = 0; i < 3; ++i) {
    Step step;
    step.op = &softmax_op;
    step.kernel = &kKernel;
    step.cost.bytes = 1000;
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

constexpr StepLimit kLimit{{1e12, 1e12}, 0, 0};

TEST(StepTimes, AreMediansOfSeveralRuns) {
  EXPECT_THAT(median_times({{1, 10}, {3, 30}, {2, 20}}), testing::ElementsAre(2, 20));
  EXPECT_THAT(median_times({}), testing::IsEmpty());
}

TEST(StepTimes, SayWhichStepsAreOneLaunch) {
  static constexpr RunKernel kRun{.name = "chain"};
  Plan plan = three_steps();
  EXPECT_THAT(step_table(plan, {1, 2, 3}, kLimit), Not(HasSubstr("one launch")));
  EXPECT_FALSE(step_rows(plan, {1, 2, 3}, kLimit)[1].contains("run"));
  plan.runs.emplace_back();
  plan.runs[0].kernel = &kRun;
  plan.runs[0].first = 1;
  plan.runs[0].count = 2;
  EXPECT_THAT(step_table(plan, {1, 2, 3}, kLimit),
              HasSubstr("steps 1 to 2 are one launch by chain; timed alone here\nall steps 6.0000 ms"));
  const auto rows = step_rows(plan, {1, 2, 3}, kLimit);
  EXPECT_FALSE(rows[0].contains("run"));
  EXPECT_EQ(rows[2]["run"].dump(), R"({"kernel":"chain","first":1,"last":2})");
}

}  // namespace
}  // namespace plica
