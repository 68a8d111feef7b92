#include "runtime/exec/branches.h"

#include <gmock/gmock.h>

#include "ops/softmax.h"

namespace plica {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr DeviceLimits kLimits{1e12, 1e12, 1e12, 1e12};

Place at(int64_t offset, int64_t floats, Place::Kind kind = Place::Kind::kArena) {
  return {kind, 0, offset, nullptr, {DType::kF32, {floats}, {}}, nullptr};
}

Step step(std::vector<Place> in, Place out, double bytes = 1e7) {
  Step step;
  step.op = &softmax_op;
  step.in = std::move(in);
  step.out = {std::move(out)};
  step.cost.bytes = bytes;
  return step;
}

TEST(Branches, StepsThatShareNoMemoryRunSideBySide) {
  Plan plan;
  plan.steps = {step({}, at(0, 16)), step({}, at(64, 16)), step({at(0, 16)}, at(128, 16)),
                step({at(64, 16)}, at(192, 16)), step({at(128, 16), at(192, 16)}, at(256, 16))};
  EXPECT_THAT(find_branches(plan, kLimits),
              ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0), ElementsAre(1), ElementsAre(3, 2)));
}

TEST(Branches, HaveARowEach) {
  EXPECT_THAT(rows_of({{}, {}, {0}, {1}, {3, 2}, {4}}, 6), ElementsAre(0, 1, 0, 1, 0, 0));
  EXPECT_THAT(rows_of({{}, {0}, {0}, {1, 2}, {}}, 5), ElementsAre(0, 0, 1, 0, 2));  // row 1 may still be busy
  EXPECT_THAT(rows_of({{}, {0}, {0}, {2, 1}, {3}, {3}}, 6), ElementsAre(0, 0, 1, 0, 0, 1));
  EXPECT_THAT(rows_of({}, 2), ElementsAre(0, 0));
}

TEST(Branches, AChainRunsOneByOne) {
  Plan plan;
  plan.steps = {step({}, at(0, 16)), step({at(0, 16)}, at(64, 16)), step({at(64, 16)}, at(0, 16))};
  EXPECT_THAT(find_branches(plan, kLimits), IsEmpty());
}

TEST(Branches, ShortSideStepsAreNotWorthAFork) {
  Plan plan;
  plan.steps = {step({}, at(0, 16)), step({}, at(64, 16), 10), step({at(0, 16), at(64, 16)}, at(128, 16))};
  EXPECT_THAT(find_branches(plan, kLimits), IsEmpty());
}

// As inputs of a deep model are made ready.
TEST(Branches, SeveralStepsSideBySideAreWorthAForkInALongChainToo) {
  Plan plan;
  plan.steps = {step({}, at(0, 16)), step({}, at(64, 16)), step({}, at(128, 16)),
                step({at(0, 16), at(64, 16), at(128, 16)}, at(192, 16))};
  for (int i = 0; i < 60; ++i) plan.steps.push_back(step({at(192 + 64 * i, 16)}, at(256 + 64 * i, 16)));
  const auto waits = find_branches(plan, kLimits);
  ASSERT_EQ(waits.size(), plan.steps.size());
  EXPECT_THAT(waits[3], ElementsAre(2, 1, 0));
  EXPECT_THAT(waits.back(), ElementsAre(static_cast<int>(waits.size()) - 2));
}

// The third takes over memory that the second still reads.
TEST(Branches, MemoryThatIsReusedIsWaitedFor) {
  Plan plan;
  plan.steps = {step({}, at(0, 16)), step({at(32, 8)}, at(64, 16)), step({}, at(0, 16)), step({}, at(256, 16))};
  EXPECT_THAT(find_branches(plan, kLimits), ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(1), IsEmpty()));
}

TEST(Branches, ScratchAndCopiesOfInputsAreMemoryToo) {
  Plan plan;
  plan.inputs = {{DType::kF32, {16}, {}}};
  plan.input_places = {at(64, 16)};
  plan.steps = {step({at(0, 16, Place::Kind::kInput)}, at(0, 16)), step({}, at(128, 16)), step({}, at(256, 16))};
  plan.steps[1].scratch_offset = 96;
  plan.steps[1].scratch_bytes = 32;
  EXPECT_THAT(find_branches(plan, kLimits), ElementsAre(IsEmpty(), ElementsAre(0), IsEmpty()));
}

StepRun run_of(size_t first, size_t count) {
  StepRun run;
  run.first = first;
  run.count = count;
  return run;
}

// Steps 2 and 3 are one launch: it waits for what either of them reads, and step 4, which needs the first of them alone, for both.
TEST(Branches, ARunIsOneLaunch) {
  Plan plan;
  plan.steps = {step({}, at(0, 16)), step({}, at(64, 16)), step({at(0, 16)}, at(128, 16)),
                step({at(64, 16), at(128, 16)}, at(192, 16)), step({at(128, 16)}, at(256, 16))};
  EXPECT_THAT(find_branches(plan, kLimits),
              ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0), ElementsAre(2, 1), ElementsAre(2)));
  plan.runs = {run_of(2, 2)};
  const auto waits = find_branches(plan, kLimits);
  EXPECT_THAT(waits, ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(1, 0), ElementsAre(2), ElementsAre(3)));
  EXPECT_THAT(rows_of(waits, 5), ElementsAre(0, 1, 0, 0, 0));
}

TEST(Branches, RunsAreNeverSideBySide) {
  Plan plan;
  for (int i = 0; i < 6; ++i) plan.steps.push_back(step({}, at(64 * i, 16)));
  plan.runs = {run_of(0, 2), run_of(3, 2)};
  EXPECT_THAT(find_branches(plan, kLimits),
              ElementsAre(IsEmpty(), ElementsAre(0), IsEmpty(), ElementsAre(1), ElementsAre(3), IsEmpty()));
}

TEST(Branches, ScratchOfARunIsMemoryToo) {
  Plan plan;
  plan.steps = {step({}, at(0, 16)), step({}, at(64, 16)), step({}, at(128, 16)), step({}, at(192, 16))};
  plan.runs = {run_of(1, 2)};
  plan.runs[0].scratch_offset = 192;
  plan.runs[0].scratch_bytes = 64;
  EXPECT_THAT(find_branches(plan, kLimits), ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(1), ElementsAre(2)));
}

TEST(Branches, StridesSayWhatIsTouched) {
  Plan plan;
  Place reversed = at(124, 2);
  reversed.type.strides = {-16};  // bytes 60 to 128
  plan.steps = {step({}, at(0, 16)), step({reversed}, at(512, 16)), step({}, at(64, 16)), step({}, at(128, 16))};
  EXPECT_THAT(find_branches(plan, kLimits), ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(1), IsEmpty()));
}

}  // namespace
}  // namespace plica
