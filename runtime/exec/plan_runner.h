#pragma once

#include <memory>
#include <span>

#include "runtime/exec/plan.h"

namespace plica {

// Runs the plans of one session: owns the memory that they run in. One thread at a time.
class PlanRunner {
 public:
  virtual ~PlanRunner() = default;

  // Memory for a plan, which the calls below are about. After an Error the plan before it still runs.
  virtual Status prepare(std::shared_ptr<const Plan> plan) = 0;

  // The caller's memory, dense and aligned to its elements, of the host or of the device. An output without memory (null) is
  // the runner's, in the host's memory.
  virtual Status bind_input(size_t index, const void* data) = 0;
  virtual Status bind_output(size_t index, void* data) = 0;

  // With `step_ms` (one a step) each step is timed. Where all outputs are bound to memory of the device the work is only
  // queued; otherwise it is done when this returns. kInvalidInput naming the step where a kernel found its data wrong: in
  // this run, or in a queued run before it that nobody waited for.
  virtual Status run(std::span<double> step_ms = {}) = 0;
  virtual void* output(size_t index) const = 0;

  // Where each step of a run lies in time: begin and end in ms from the run's begin, two a step.
  virtual Status trace(std::span<double> step_times) = 0;

  // Of the graph that the last run launched; zeros where it launched none.
  virtual Result<GraphNodes> graph_nodes() const = 0;

  // A point in the runs, with a time once it is reached; numbers are reused by later marks.
  virtual Status mark(size_t number) = 0;
  virtual Result<double> ms_between(size_t from, size_t to) = 0;

  // Waits for queued runs.
  virtual Status synchronize() = 0;

  // The stream (a cudaStream_t) that runs are queued on; null: the runner's own. Nothing on the CPU.
  virtual Status set_stream(void* stream) = 0;
  virtual void* stream() const = 0;

  virtual size_t arena_bytes() const = 0;  // that the device has given so far
};

Result<std::unique_ptr<PlanRunner>> make_runner(const std::shared_ptr<DeviceContext>& context);

}  // namespace plica
