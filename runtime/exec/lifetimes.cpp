#include "runtime/exec/lifetimes.h"

#include <algorithm>

namespace plica {
namespace {

using Kind = Place::Kind;

template <class Fn>
void for_each_buffer(const Step& step, Fn&& fn) {
  for (const std::vector<Place>* places : {&step.in, &step.out})
    for (const Place& place : *places)
      if (place.kind != Kind::kAbsent && place.kind != Kind::kConstant) fn(static_cast<size_t>(place.index));
}

// On a device with a queue neighbouring steps may run side by side, where they share no memory: what is small is not taken over
// by the next few.
void keep_apart(std::vector<Lifetime>& lifetimes, int num_steps) {
  constexpr size_t kSmall = size_t{4} << 20;
  constexpr int kSteps = 4;
  for (Lifetime& lifetime : lifetimes)
    if (lifetime.bytes > 0 && lifetime.bytes <= kSmall) lifetime.last = std::min(lifetime.last + kSteps, num_steps - 1);
}

// A run does parts of its steps behind their place.
void keep_through_lag(const Draft& draft, const StepRun& run, std::vector<Lifetime>& lifetimes) {
  const auto last = static_cast<int>(run.last());
  for (int i = static_cast<int>(run.first); i <= last; ++i)
    for_each_buffer(draft.steps[static_cast<size_t>(i)], [&](size_t buffer) {
      lifetimes[buffer].last = std::max(lifetimes[buffer].last, std::min(i + kRunLag, last));
    });
}

}  // namespace

std::vector<Lifetime> lifetimes_of(const Draft& draft, std::span<const StepRun> runs, bool is_queued) {
  std::vector<Lifetime> lifetimes;
  const auto num_steps = static_cast<int>(draft.steps.size());
  for (const Buffer& buffer : draft.buffers) {
    const bool kept = buffer.kind == Kind::kOutput;
    lifetimes.push_back({buffer.bytes, num_steps, kept ? num_steps - 1 : -1, buffer.kind != Kind::kArena});
  }
  for (int i = 0; i < num_steps; ++i)
    for_each_buffer(draft.steps[static_cast<size_t>(i)], [&](size_t buffer) {
      lifetimes[buffer].first = std::min(lifetimes[buffer].first, i);
      lifetimes[buffer].last = std::max(lifetimes[buffer].last, i);
    });
  for (const StepRun& run : runs) keep_through_lag(draft, run, lifetimes);
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    Lifetime& lifetime = lifetimes[i];
    if (lifetime.last < lifetime.first) {
      lifetime = {};
    } else if (draft.buffers[i].kind == Kind::kInput && draft.buffers[i].bytes > 0) {
      lifetime.first = 0;  // it is copied before the first step
    }
  }
  const size_t first_scratch = lifetimes.size();
  for (int i = 0; i < num_steps; ++i) lifetimes.push_back({draft.steps[static_cast<size_t>(i)].scratch_bytes, i, i});
  for (const StepRun& run : runs)
    for (size_t i = run.first; i <= run.last(); ++i)
      lifetimes[first_scratch + i].last = static_cast<int>(std::min(i + kRunLag, run.last()));
  for (const StepRun& run : runs)
    lifetimes.push_back({run.scratch_bytes, static_cast<int>(run.first), static_cast<int>(run.last())});
  if (is_queued) keep_apart(lifetimes, num_steps);
  return lifetimes;
}

}  // namespace plica
