#include "runtime/exec/lifetimes.h"

#include <gtest/gtest.h>

namespace plica {
namespace {

// Steps that each read the buffer before and write the next: buffer i is alive from step i - 1 to step i.
Draft chain(int num_steps, size_t bytes) {
  Draft draft;
  draft.buffers.resize(static_cast<size_t>(num_steps) + 1);
  for (Buffer& buffer : draft.buffers) buffer.bytes = bytes;
  for (int i = 0; i < num_steps; ++i) {
    Step step;
    step.in = {{Place::Kind::kArena, i, 0, nullptr, {}, nullptr}};
    step.out = {{Place::Kind::kArena, i + 1, 0, nullptr, {}, nullptr}};
    draft.steps.push_back(std::move(step));
  }
  return draft;
}

StepRun run_of(size_t first, size_t count) {
  StepRun run;
  run.first = first;
  run.count = count;
  run.scratch_bytes = 100;
  return run;
}

constexpr size_t kLarge = size_t{16} << 20;

TEST(Lifetimes, EndWithTheLastStep) {
  const auto lifetimes = lifetimes_of(chain(8, kLarge), {}, true);
  ASSERT_EQ(lifetimes.size(), 9u + 8u);
  EXPECT_EQ(lifetimes[3].first, 2);
  EXPECT_EQ(lifetimes[3].last, 3);
}

TEST(Lifetimes, OfWhatIsSmallAreLongerWhereWorkIsQueued) {
  EXPECT_EQ(lifetimes_of(chain(8, 64), {}, true)[2].last, 6);
  EXPECT_EQ(lifetimes_of(chain(8, 64), {}, false)[2].last, 2);
}

TEST(Lifetimes, InARunLastAsLongAsItMayLag) {
  const StepRun run = run_of(1, 5);
  const auto lifetimes = lifetimes_of(chain(8, kLarge), {&run, 1}, true);
  EXPECT_EQ(lifetimes[0].last, 0);            // nothing of it is of the run
  EXPECT_EQ(lifetimes[1].last, 1 + kRunLag);  // read by its first step
  EXPECT_EQ(lifetimes[3].last, 3 + kRunLag);
  EXPECT_EQ(lifetimes[4].last, 5);  // the run is over
  EXPECT_EQ(lifetimes[5].last, 5);
  EXPECT_EQ(lifetimes[6].last, 6);  // read behind it
  EXPECT_EQ(lifetimes[7].last, 7);
}

TEST(Lifetimes, ScratchOfARunIsThereForAllOfIt) {
  const std::vector<StepRun> runs = {run_of(1, 3), run_of(4, 2)};
  const auto lifetimes = lifetimes_of(chain(8, kLarge), runs, false);
  ASSERT_EQ(lifetimes.size(), 9u + 8u + 2u);
  EXPECT_EQ(lifetimes[17].first, 1);
  EXPECT_EQ(lifetimes[17].last, 3);
  EXPECT_EQ(lifetimes[18].first, 4);
  EXPECT_EQ(lifetimes[18].last, 5);
  EXPECT_EQ(lifetimes[18].bytes, 100u);
}

}  // namespace
}  // namespace plica
