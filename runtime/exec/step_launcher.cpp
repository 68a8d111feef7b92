#include "runtime/exec/step_launcher.h"

#include <algorithm>

namespace plica {

Status StepLauncher::enqueue_in_order(bool marked) const {
  for (size_t i = 0; i < ready_.plan->steps.size();) {
    PLICA_TRY(const size_t count, enqueue_from(i, marked));
    const bool had_last_faulting =
        static_cast<int>(i) <= ready_.last_faulting && ready_.last_faulting < static_cast<int>(i + count);
    i += count;
    if (!had_last_faulting) continue;
    PLICA_TRY(const size_t end, queue_.point());
    PLICA_CHECK(queue_.copy(pinned_faults_, ready_.device_faults, ready_.fault_bytes));
    PLICA_CHECK(queue_.continue_after({&end, 1}));  // nobody waits for the copy
  }
  return {};
}

Status StepLauncher::enqueue_branches(bool marked) const {
  const std::vector<std::vector<int>>& waits = ready_.plan->waits;
  PLICA_TRY(const size_t begin, queue_.point());
  std::vector<size_t> ends, faulting_ends;
  while (ends.size() < waits.size()) {
    const size_t i = ends.size();
    std::vector<size_t> points;
    for (int wait : waits[i]) points.push_back(ends[static_cast<size_t>(wait)]);
    if (points.empty()) points.push_back(begin);
    PLICA_CHECK(queue_.continue_after(points));
    PLICA_TRY(const size_t count, enqueue_from(i, marked));
    PLICA_TRY(const size_t end, queue_.point());
    const Step& first = ready_.plan->steps[i];
    ends.insert(ends.end(), count, end);
    if (std::ranges::any_of(ready_.faulting, [&](const Step* step) { return step >= &first && step < &first + count; }))
      faulting_ends.push_back(end);
  }
  if (ready_.last_faulting >= 0) {
    PLICA_CHECK(queue_.continue_after(faulting_ends));
    PLICA_CHECK(queue_.copy(pinned_faults_, ready_.device_faults, ready_.fault_bytes));
  }
  return queue_.continue_after(ends);
}

Result<size_t> StepLauncher::enqueue_from(size_t i, bool marked) const {
  const StepRun* run = ready_.plan->run_of(i);
  if (marked) PLICA_CHECK(queue_.mark(2 * i));
  PLICA_CHECK(run != nullptr ? enqueue_run(*run) : enqueue_step(i));
  if (marked) PLICA_CHECK(queue_.mark(2 * i + 1));
  return run != nullptr ? run->count : 1;
}

KernelArgs StepLauncher::arguments_of(size_t i) const {
  KernelArgs args;
  ready_.operands.fill(i, args);
  args.stream = queue_.stream();
  args.fault = ready_.device_fault(i);
  return args;
}

Status StepLauncher::enqueue_step(size_t i) const {
  const Step& step = ready_.plan->steps[i];
  step.kernel->run(step.attrs.get(), arguments_of(i));
  Status status = queue_.launch_status("launching");
  if (status) return {};
  return std::move(status).context(std::string(step.op->name) + "." + std::string(step.kernel->name) + " '" +
                                   step.name + "'");
}

Status StepLauncher::enqueue_run(const StepRun& run) const {
  std::vector<KernelArgs> steps;
  for (size_t i = run.first; i <= run.last(); ++i) steps.push_back(arguments_of(i));
  RunArgs args;
  args.steps = steps;
  args.stream = queue_.stream();
  ready_.operands.fill(run, args);
  run.kernel->run(args);
  Status status = queue_.launch_status("launching");
  if (status) return {};
  return std::move(status).context(
      describe_run(*run.kernel, ready_.plan->steps[run.first], ready_.plan->steps[run.last()]));
}

}  // namespace plica
