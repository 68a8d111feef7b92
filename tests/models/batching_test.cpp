#include "models/batching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace plica {
namespace {

std::vector<int64_t> mixed_lengths(int count) {
  std::mt19937 random(20);
  std::normal_distribution<double> spread(std::log(280), 0.6);
  std::vector<int64_t> lengths;
  for (int i = 0; i < count; ++i)
    lengths.push_back(std::clamp<int64_t>(std::lround(std::exp(spread(random))), 30, 1500));
  return lengths;
}

TEST(Batching, EveryRecordComesOnceWithinTheBudget) {
  const auto lengths = mixed_lengths(300);
  const BatchPlan plan = plan_batches(lengths, {.max_tokens = 4096});
  std::vector<int> seen(lengths.size(), 0);
  int64_t tokens = 0;
  for (const BatchPlan::Batch& batch : plan.batches) {
    EXPECT_LE(batch.width * static_cast<int64_t>(batch.records.size()), 4096);
    for (const size_t record : batch.records) {
      EXPECT_LE(lengths[record], batch.width);
      tokens += lengths[record];
      ++seen[record];
    }
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  EXPECT_EQ(plan.num_tokens, tokens);
  EXPECT_GT(plan.mean_batch(), 4);
  EXPECT_LT(plan.padding_waste(), 0.1);
}

TEST(Batching, ALongRecordIsABatchOfItsOwn) {
  const std::vector<int64_t> lengths{10, 5000, 12};
  const BatchPlan plan = plan_batches(lengths, {.max_tokens = 100});
  ASSERT_EQ(plan.batches.size(), 2u);
  EXPECT_EQ(plan.batches[0].records, (std::vector<size_t>{1}));
  EXPECT_EQ(plan.batches[1].records, (std::vector<size_t>{2, 0}));
  EXPECT_EQ(plan.num_padded_tokens, 5024);
}

TEST(Batching, UnlikeLengthsAreNotPaddedTogether) {
  const std::vector<int64_t> lengths{1000, 100};
  EXPECT_EQ(plan_batches(lengths, {.max_tokens = 4096}).batches.size(), 2u);
}

TEST(Batching, RecordsOfABatchMayBeLimited) {
  const std::vector<int64_t> lengths(10, 20);
  EXPECT_EQ(plan_batches(lengths, {.max_tokens = 4096, .max_records = 1}).batches.size(), 10u);
}

TEST(Batching, EqualLengthsNeedNoPadding) {
  const std::vector<int64_t> lengths{7, 8, 7, 8, 8};
  const BatchPlan plan = plan_batches(lengths, {.equal_lengths = true});
  EXPECT_EQ(plan.batches.size(), 2u);
  EXPECT_EQ(plan.padding_waste(), 0);
}

TEST(Batching, NothingGivesNoBatch) {
  const BatchPlan plan = plan_batches({}, {});
  EXPECT_TRUE(plan.batches.empty());
  EXPECT_EQ(plan.padding_waste(), 0);
  EXPECT_EQ(plan.mean_batch(), 0);
}

}  // namespace
}  // namespace plica
