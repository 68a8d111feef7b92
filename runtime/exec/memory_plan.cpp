#include "runtime/exec/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace plica {
namespace {

using Order = std::vector<size_t>;

size_t round_up(size_t bytes) { return (bytes + kOffsetAlignment - 1) / kOffsetAlignment * kOffsetAlignment; }

bool share_a_step(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

// Places each lifetime of `order` into the smallest gap between those placed before that are live with it.
MemoryPlan place_in_order(std::span<const Lifetime> lifetimes, const Order& order) {
  MemoryPlan plan;
  plan.offsets.resize(lifetimes.size());
  Order placed;  // by offset
  placed.reserve(order.size());
  for (size_t id : order) {
    const size_t bytes = round_up(lifetimes[id].bytes);
    size_t best = 0, best_gap = static_cast<size_t>(-1), end = 0;
    for (size_t other : placed) {
      if (!share_a_step(lifetimes[id], lifetimes[other])) continue;
      const size_t offset = plan.offsets[other];
      if (offset >= end + bytes && offset - end < best_gap) {
        best = end;
        best_gap = offset - end;
      }
      end = std::max(end, offset + round_up(lifetimes[other].bytes));
    }
    plan.offsets[id] = best_gap == static_cast<size_t>(-1) ? end : best;
    plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets[id] + bytes);
    if (!lifetimes[id].is_edge) plan.inner_bytes = plan.arena_bytes;
    const auto at = std::upper_bound(placed.begin(), placed.end(), id,
                                     [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; });
    placed.insert(at, id);
  }
  return plan;
}

int num_steps(std::span<const Lifetime> lifetimes) {
  int steps = 0;
  for (const Lifetime& lifetime : lifetimes) steps = std::max(steps, lifetime.last + 1);
  return steps;
}

std::vector<size_t> live_bytes(std::span<const Lifetime> lifetimes) {
  std::vector<size_t> change(static_cast<size_t>(num_steps(lifetimes)) + 1, 0);  // wraps where memory is given back
  for (const Lifetime& lifetime : lifetimes) {
    change[static_cast<size_t>(lifetime.first)] += round_up(lifetime.bytes);
    change[static_cast<size_t>(lifetime.last) + 1] -= round_up(lifetime.bytes);
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  change.pop_back();
  return change;
}

// The orders that are tried: largest first; largest first within the most crowded steps; longest first; oldest first. Edges
// come behind all else.
template <class Key>
Order ordered_by(std::span<const Lifetime> lifetimes, Key&& key) {
  Order order(lifetimes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return lifetimes[a].is_edge != lifetimes[b].is_edge ? lifetimes[b].is_edge : key(a) > key(b);
  });
  return order;
}

}  // namespace

MemoryPlan plan_memory(std::span<const Lifetime> lifetimes, bool inner_first) {
  const std::vector<size_t> live = live_bytes(lifetimes);
  const size_t peak = live_peak_bytes(lifetimes), inner_peak = inner_peak_bytes(lifetimes);
  const auto bytes = [&](size_t i) { return lifetimes[i].bytes; };
  const auto length = [&](size_t i) { return lifetimes[i].last - lifetimes[i].first; };
  const auto crowd = [&](size_t i) {
    const auto first = live.begin() + lifetimes[i].first, last = live.begin() + lifetimes[i].last + 1;
    return *std::max_element(first, last);
  };
  MemoryPlan best = place_in_order(lifetimes, ordered_by(lifetimes, bytes));
  const auto attempt = [&](auto&& key) {
    if (best.arena_bytes == peak && best.inner_bytes == inner_peak) return;
    MemoryPlan plan = place_in_order(lifetimes, ordered_by(lifetimes, key));
    const auto size = [&](const MemoryPlan& p) {
      return inner_first ? std::pair(p.inner_bytes, p.arena_bytes) : std::pair(p.arena_bytes, p.inner_bytes);
    };
    if (size(plan) < size(best)) best = std::move(plan);
  };
  attempt([&](size_t i) { return std::pair(crowd(i), bytes(i)); });
  attempt([&](size_t i) { return std::pair(length(i), static_cast<int64_t>(bytes(i))); });
  attempt([&](size_t i) { return -lifetimes[i].first; });
  best.peak_bytes = peak;
  return best;
}

size_t inner_peak_bytes(std::span<const Lifetime> lifetimes) {
  std::vector<Lifetime> inner(lifetimes.begin(), lifetimes.end());
  for (Lifetime& lifetime : inner)
    if (lifetime.is_edge) lifetime.bytes = 0;
  return live_peak_bytes(inner);
}

size_t live_peak_bytes(std::span<const Lifetime> lifetimes) {
  const std::vector<size_t> live = live_bytes(lifetimes);
  return live.empty() ? 0 : *std::max_element(live.begin(), live.end());
}

std::string to_text(std::span<const Lifetime> lifetimes, const MemoryPlan& plan) {
  Order by_offset(lifetimes.size());
  std::iota(by_offset.begin(), by_offset.end(), size_t{0});
  std::stable_sort(by_offset.begin(), by_offset.end(),
                   [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; });
  const std::vector<size_t> live = live_bytes(lifetimes);
  std::string text;
  for (size_t step = 0; step < live.size(); ++step) {
    text.append("step ").append(std::to_string(step)).append(": ").append(std::to_string(live[step])).append(" bytes");
    for (size_t i : by_offset) {
      const Lifetime& lifetime = lifetimes[i];
      if (lifetime.first > static_cast<int>(step) || lifetime.last < static_cast<int>(step)) continue;
      text.append(" [").append(std::to_string(plan.offsets[i])).append(",");
      text.append(std::to_string(plan.offsets[i] + lifetime.bytes)).append(")");
    }
    text.append("\n");
  }
  const size_t percent = plan.arena_bytes == 0 ? 100 : plan.peak_bytes * 100 / plan.arena_bytes;
  text.append("usage ").append(std::to_string(plan.peak_bytes)).append(" / ").append(std::to_string(plan.arena_bytes));
  return text.append(" bytes = ").append(std::to_string(percent)).append("%\n");
}

}  // namespace plica
