#pragma once

#include "runtime/exec/ready_plan.h"

namespace plica {

// Queues the steps of a ready plan, its runs as one launch each. With `marked` step i is between marks 2 i and 2 i + 1, a run between
// those of its first step: its other steps have none.
class StepLauncher {
 public:
  // `pinned_faults`: where the faults are copied to.
  StepLauncher(DeviceQueue& queue, const ReadyPlan& ready, void* pinned_faults)
      : queue_(queue), ready_(ready), pinned_faults_(pinned_faults) {}

  Status enqueue_in_order(bool marked) const;
  Status enqueue_branches(bool marked) const;  // each behind those that it has to wait for

  // By its own kernel, where it is of a run too.
  Status enqueue_step(size_t i) const;

 private:
  Result<size_t> enqueue_from(size_t i, bool marked) const;  // how many steps it was: one, or those of a run
  Status enqueue_run(const StepRun& run) const;
  KernelArgs arguments_of(size_t i) const;

  DeviceQueue& queue_;
  const ReadyPlan& ready_;
  void* pinned_faults_;
};

}  // namespace plica
