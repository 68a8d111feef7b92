#include "models/batching.h"

#include <algorithm>
#include <numeric>

namespace plica {
namespace {

constexpr int64_t kTolerated = 32;  // padding that always pays, in tokens a record

bool joins(const BatchPlan::Batch& batch, int64_t length, const BatchLimits& limits) {
  const auto count = static_cast<int64_t>(batch.records.size()) + 1;
  if (limits.max_records > 0 && count > limits.max_records) return false;
  if (batch.width * count > limits.max_tokens) return false;
  if (limits.equal_lengths) return length == batch.width;
  return length >= batch.width - std::max(batch.width / 4, kTolerated);
}

}  // namespace

double BatchPlan::padding_waste() const {
  if (num_padded_tokens == 0) return 0;
  return 1 - static_cast<double>(num_tokens) / static_cast<double>(num_padded_tokens);
}

double BatchPlan::mean_batch() const {
  return batches.empty() ? 0 : static_cast<double>(num_records) / static_cast<double>(batches.size());
}

BatchPlan plan_batches(std::span<const int64_t> lengths, const BatchLimits& limits) {
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lengths[a] > lengths[b]; });
  BatchPlan plan;
  plan.num_records = static_cast<int64_t>(lengths.size());
  for (const size_t record : order) {
    if (plan.batches.empty() || !joins(plan.batches.back(), lengths[record], limits))
      plan.batches.push_back({{}, lengths[record]});
    plan.batches.back().records.push_back(record);
    plan.num_tokens += lengths[record];
    plan.num_padded_tokens += plan.batches.back().width;
  }
  std::stable_sort(plan.batches.begin(), plan.batches.end(), [](const auto& a, const auto& b) {
    return a.width * static_cast<int64_t>(a.records.size()) > b.width * static_cast<int64_t>(b.records.size());
  });
  return plan;
}

}  // namespace plica
