#include "runtime/exec/branches.h"

#include <algorithm>
#include <map>

#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

// Bytes of the arena.
struct Range {
  int64_t begin = 0, end = 0;
};

// What the steps so far have done to the arena, stretch by stretch.
class Touched {
 public:
  void read(Range range, int step, std::vector<int>& waits) {
    for (auto it = split(range); it != parts_.end() && it->first < range.end; ++it) {
      if (it->second.writer >= 0) waits.push_back(it->second.writer);
      it->second.readers.push_back(step);
    }
  }

  void write(Range range, int step, std::vector<int>& waits) {
    for (auto it = split(range); it != parts_.end() && it->first < range.end; ++it) {
      if (it->second.writer >= 0) waits.push_back(it->second.writer);
      waits.insert(waits.end(), it->second.readers.begin(), it->second.readers.end());
      it->second = {step, {}};
    }
  }

 private:
  struct Part {
    int writer = -1;
    std::vector<int> readers;  // since then
  };
  using Parts = std::map<int64_t, Part>;  // by their first byte; each ends where the next begins

  // Makes parts begin and end where the range does; the first of the range.
  Parts::iterator split(Range range) {
    cut(range.end);
    return cut(range.begin);
  }
  Parts::iterator cut(int64_t at) {
    auto next = parts_.lower_bound(at);
    if (next != parts_.end() && next->first == at) return next;
    Part before = next == parts_.begin() ? Part{} : std::prev(next)->second;
    return parts_.emplace_hint(next, at, std::move(before));
  }

  Parts parts_;
};

// The bytes of a place in the arena: those of inputs and outputs are where they lie when they are copied. Empty for constants.
Range range_of(const Plan& plan, const Place& place) {
  int64_t offset = place.offset_bytes;
  const auto index = static_cast<size_t>(place.index);
  switch (place.kind) {
    case Place::Kind::kArena: break;
    case Place::Kind::kInput: offset += plan.input_places[index].offset_bytes; break;
    case Place::Kind::kOutput: offset += plan.output_places[index].offset_bytes; break;
    default: return {};
  }
  if (num_elements(place.type.shape) == 0) return {};
  const Strides strides = place.type.strides.empty() ? dense_strides(place.type.shape) : place.type.strides;
  int64_t first = 0, last = 0;  // elements
  for (size_t i = 0; i < strides.size(); ++i) {
    const int64_t span = (place.type.shape[i] - 1) * strides[i];
    (span < 0 ? first : last) += span;
  }
  const auto bytes = static_cast<int64_t>(size_of(place.type.dtype));
  return {offset + first * bytes, offset + (last + 1) * bytes};
}

Range scratch_of(int64_t offset, size_t bytes) { return {offset, offset + static_cast<int64_t>(bytes)}; }

// What steps first to last, one launch, touch and have to wait for; later steps wait for the last.
std::vector<int> waits_of(const Plan& plan, size_t first, size_t last, Touched& arena) {
  const auto id = static_cast<int>(last);
  std::vector<int> waits;
  const auto write = [&](Range range) {
    if (range.end > range.begin) arena.write(range, id, waits);
  };
  for (size_t i = first; i <= last; ++i) {
    const Step& step = plan.steps[i];
    for (const Place& place : step.in)
      if (const Range range = range_of(plan, place); range.end > range.begin) arena.read(range, id, waits);
    for (const Place& place : step.out) write(range_of(plan, place));
    write(scratch_of(step.scratch_offset, step.scratch_bytes));
  }
  if (const StepRun* run = plan.run_of(first)) write(scratch_of(run->scratch_offset, run->scratch_bytes));
  std::sort(waits.begin(), waits.end());
  waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  if (!waits.empty() && waits.back() == id)
    waits.pop_back();  // it works in place, or a step of a run reads what one before it makes
  return waits;
}

// Drops what another of the waits waits for.
class Reducer {
 public:
  explicit Reducer(size_t num_steps) : num_words_(num_steps / 64 + 1), before_(num_steps * num_words_) {}

  std::vector<int> reduce(int step, const std::vector<int>& waits) {
    std::vector<int> kept;
    uint64_t* all = words_of(step);
    for (auto wait = waits.rbegin(); wait != waits.rend(); ++wait) {
      const auto at = static_cast<size_t>(*wait);
      if ((all[at / 64] >> at % 64 & 1) != 0) continue;
      kept.push_back(*wait);
      all[at / 64] |= uint64_t{1} << at % 64;
      const uint64_t* before = words_of(*wait);
      for (size_t i = 0; i <= at / 64; ++i) all[i] |= before[i];
    }
    return kept;
  }

 private:
  // A bit a step: all that `step` waits for, however far.
  uint64_t* words_of(int step) { return before_.data() + static_cast<size_t>(step) * num_words_; }

  size_t num_words_;
  std::vector<uint64_t> before_;
};

// Whether the longest chain of steps is clearly shorter than all of them: by a share of their time, or, where a few joins are all that
// a long plan has, by some launches' time. Each fork and each join costs some.
bool is_faster(const Plan& plan, const std::vector<std::vector<int>>& waits, const DeviceLimits& limits) {
  constexpr double kLaunch = 2e-6, kJoin = 1.5e-6, kClearly = 0.93, kGain = 3e-6;
  constexpr size_t kLong = 12;  // steps a join
  double alone = 0, together = 0;
  size_t joins = 0;
  std::vector<double> ends;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Cost& cost = plan.steps[i].cost;
    const StepRun* run = plan.run_of(i);
    const double launch = run == nullptr || run->first == i ? kLaunch : 0;
    const double seconds = launch + std::max(cost.bytes / limits.bytes_per_s, cost.flops / limits.f32_flops_per_s);
    double begin = 0;
    for (int wait : waits[i]) begin = std::max(begin, ends[static_cast<size_t>(wait)]);
    const bool is_join = waits[i].size() > 1;
    ends.push_back(begin + seconds + (is_join ? kJoin : 0));
    joins += is_join;
    alone += seconds;
    together = std::max(together, ends.back());
  }
  const bool has_few_joins = joins * kLong <= plan.steps.size();
  return together < kClearly * alone || (has_few_joins && alone - together > kGain);
}

}  // namespace

std::vector<std::vector<int>> find_branches(const Plan& plan, const DeviceLimits& limits) {
  Touched arena;
  Reducer reducer(plan.steps.size());
  std::vector<std::vector<int>> waits;
  int last_run = -1;  // the last step of the run so far
  for (size_t i = 0; i < plan.steps.size();) {
    const StepRun* run = plan.run_of(i);
    const size_t last = run != nullptr ? run->last() : i;
    std::vector<int> wanted = waits_of(plan, i, last, arena);
    if (run != nullptr && last_run >= 0)  // each may want the whole device
      wanted.insert(std::lower_bound(wanted.begin(), wanted.end(), last_run), last_run);
    if (run != nullptr) last_run = static_cast<int>(last);
    for (; i <= last; wanted = {static_cast<int>(i++)}) waits.push_back(reducer.reduce(static_cast<int>(i), wanted));
  }
  return is_faster(plan, waits, limits) ? waits : std::vector<std::vector<int>>();
}

std::vector<int> rows_of(const std::vector<std::vector<int>>& waits, size_t num_steps) {
  std::vector<int> rows(num_steps, 0), last;  // the last step of each row
  std::vector<std::vector<bool>> behind;      // by step: all that it waits for, however far
  for (size_t i = 0; i < waits.size(); ++i) {
    std::vector<bool>& mine = behind.emplace_back(num_steps);
    for (int wait : waits[i]) {
      const std::vector<bool>& before = behind[static_cast<size_t>(wait)];
      for (size_t k = 0; k < i; ++k) mine[k] = mine[k] || before[k];
      mine[static_cast<size_t>(wait)] = true;
    }
    const auto ends_with_a_wait = [&](int step) {
      return std::find(waits[i].begin(), waits[i].end(), step) != waits[i].end();
    };
    const auto is_done = [&](int step) { return behind[i][static_cast<size_t>(step)]; };
    auto row = std::find_if(last.begin(), last.end(), ends_with_a_wait);
    if (row == last.end()) row = std::find_if(last.begin(), last.end(), is_done);
    if (row == last.end()) row = last.insert(last.end(), 0);
    *row = static_cast<int>(i);
    rows[i] = static_cast<int>(row - last.begin());
  }
  return rows;
}

}  // namespace plica
