#include "runtime/exec/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace plica {
namespace {

void expect_valid(const std::vector<Lifetime>& lifetimes, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), lifetimes.size());
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % kOffsetAlignment, 0u);
    EXPECT_LE(plan.offsets[i] + lifetimes[i].bytes, plan.arena_bytes);
    for (size_t k = 0; k < i; ++k) {
      const bool same_time = lifetimes[i].first <= lifetimes[k].last && lifetimes[k].first <= lifetimes[i].last;
      const bool same_memory = plan.offsets[i] < plan.offsets[k] + lifetimes[k].bytes &&
                               plan.offsets[k] < plan.offsets[i] + lifetimes[i].bytes;
      EXPECT_FALSE(same_time && same_memory) << i << " and " << k;
    }
  }
  EXPECT_GE(plan.arena_bytes, plan.peak_bytes);
}

double excess(const std::vector<Lifetime>& lifetimes) {
  const MemoryPlan plan = plan_memory(lifetimes);
  expect_valid(lifetimes, plan);
  return static_cast<double>(plan.arena_bytes) / static_cast<double>(plan.peak_bytes);
}

TEST(MemoryPlan, NothingNeedsNothing) {
  const MemoryPlan plan = plan_memory({});
  EXPECT_EQ(plan.arena_bytes, 0u);
  EXPECT_EQ(to_text({}, plan), "usage 0 / 0 bytes = 100%\n");
}

TEST(MemoryPlan, OneAfterTheOtherShareMemory) {
  const std::vector<Lifetime> lifetimes{{100, 0, 1}, {100, 2, 3}};
  const MemoryPlan plan = plan_memory(lifetimes);
  EXPECT_EQ(plan.offsets[0], plan.offsets[1]);
  EXPECT_EQ(plan.arena_bytes, kOffsetAlignment);
}

TEST(MemoryPlan, ZeroSizesGetAValidOffset) {
  const std::vector<Lifetime> lifetimes{{0, 0, 3}, {64, 0, 3}, {0, 1, 1}, {64, 1, 2}};
  const MemoryPlan plan = plan_memory(lifetimes);
  expect_valid(lifetimes, plan);
  EXPECT_EQ(plan.arena_bytes, 2 * kOffsetAlignment);
}

TEST(MemoryPlan, PrintsATableOfSteps) {
  const std::vector<Lifetime> lifetimes{{512, 0, 1}, {256, 1, 2}};
  EXPECT_EQ(to_text(lifetimes, plan_memory(lifetimes)),
            "step 0: 512 bytes [0,512)\n"
            "step 1: 768 bytes [0,512) [512,768)\n"
            "step 2: 256 bytes [512,768)\n"
            "usage 768 / 768 bytes = 100%\n");
}

TEST(MemoryPlan, RandomLifetimesNeverOverlap) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> lifetimes(random() % 60);
    for (Lifetime& lifetime : lifetimes) {
      lifetime.bytes = random() % 7 == 0 ? 0 : random() % 5000;
      lifetime.first = static_cast<int>(random() % 40);
      lifetime.last = lifetime.first + static_cast<int>(random() % 8);
    }
    expect_valid(lifetimes, plan_memory(lifetimes));
  }
}

TEST(MemoryPlan, IsDeterministic) {
  std::vector<Lifetime> lifetimes;
  for (int i = 0; i < 50; ++i) lifetimes.push_back({static_cast<size_t>(i % 5) * 100, i / 3, i / 3 + i % 4});
  EXPECT_EQ(plan_memory(lifetimes).offsets, plan_memory(lifetimes).offsets);
}

// A layer of a transformer: residual stream, norm, q k v, attention, feed-forward of four times the width.
TEST(MemoryPlan, TransformerIsCloseToItsPeak) {
  for (size_t width : {320, 1280}) {
    std::vector<Lifetime> lifetimes;
    const size_t x = width * 257 * 4;
    for (int layer = 0; layer < 33; ++layer) {
      const int t = layer * 6;
      lifetimes.push_back({x, t, t + 6});          // residual stream
      lifetimes.push_back({x, t, t + 1});          // norm
      lifetimes.push_back({3 * x, t + 1, t + 2});  // q k v
      lifetimes.push_back({1000, t + 2, t + 2});   // scratch
      lifetimes.push_back({x, t + 2, t + 3});      // attention
      lifetimes.push_back({x, t + 3, t + 4});      // norm
      lifetimes.push_back({4 * x, t + 4, t + 5});  // feed-forward
    }
    EXPECT_LE(excess(lifetimes), 1.15);
  }
}

// A pair representation with gated triangle updates, and an MSA beside it that lives throughout.
TEST(MemoryPlan, PairUpdatesAreCloseToTheirPeak) {
  std::vector<Lifetime> lifetimes;
  const size_t pair = 128 * 128 * 64 * 4, msa = 32 * 128 * 256 * 4;
  lifetimes.push_back({msa, 0, 200});
  for (int block = 0; block < 20; ++block) {
    const int t = block * 10;
    lifetimes.push_back({pair, t, t + 10});
    lifetimes.push_back({pair, t, t + 5});
    lifetimes.push_back({2 * pair, t + 1, t + 2});
    lifetimes.push_back({2 * pair, t + 2, t + 4});
    lifetimes.push_back({pair / 2, t + 3, t + 7});
    lifetimes.push_back({pair, t + 4, t + 6});
    lifetimes.push_back({pair, t + 6, t + 8});
    lifetimes.push_back({pair * 4, t + 8, t + 9});
    lifetimes.push_back({msa / 3, t + 8, t + 10});
  }
  EXPECT_LE(excess(lifetimes), 1.15);
}

// Skips across a stack that shrinks and grows again.
TEST(MemoryPlan, SkipConnectionsAreCloseToTheirPeak) {
  std::vector<Lifetime> lifetimes;
  constexpr int kDepth = 12;
  for (int i = 0; i < kDepth; ++i) {
    const size_t bytes = (size_t{1} << 20) >> (i / 2);
    lifetimes.push_back({bytes, i, 2 * kDepth - i});
    lifetimes.push_back({bytes / 2, i, i + 1});
    lifetimes.push_back({bytes, 2 * kDepth - i, 2 * kDepth - i + 1});
  }
  EXPECT_LE(excess(lifetimes), 1.15);
}

TEST(MemoryPlan, EdgesLieAboveAllElse) {
  std::vector<Lifetime> lifetimes{{4096, 0, 9, true}, {512, 0, 3}, {512, 2, 9}, {2048, 8, 9, true}};
  const MemoryPlan plan = plan_memory(lifetimes);
  expect_valid(lifetimes, plan);
  EXPECT_EQ(plan.inner_bytes, 1024u);
  EXPECT_EQ(plan.inner_bytes, inner_peak_bytes(lifetimes));
  EXPECT_EQ(plan.arena_bytes, 1024u + 4096 + 2048);
}

// They take gaps that the rest leaves.
TEST(MemoryPlan, EdgesLieInGaps) {
  const std::vector<Lifetime> lifetimes{{2048, 0, 3}, {256, 4, 9}, {1792, 5, 9, true}};
  const MemoryPlan plan = plan_memory(lifetimes);
  expect_valid(lifetimes, plan);
  EXPECT_EQ(plan.inner_bytes, 2048u);
  EXPECT_EQ(plan.arena_bytes, 2048u);
}

}  // namespace
}  // namespace plica
