#pragma once

#include <vector>

#include "runtime/exec/plan_runner.h"
#include "runtime/exec/ready_plan.h"

namespace plica {

// Runs on a device whose work is queued. The first run of a plan queues step after step, later ones launch a graph: one
// with the caller's device memory in place, or, where that memory changes from run to run, one that copies at the edges.
// What the host brings and gets passes through pinned memory.
class QueuedRunner final : public PlanRunner {
 public:
  QueuedRunner(std::shared_ptr<DeviceContext> context, std::unique_ptr<DeviceQueue> queue)
      : context_(std::move(context)), queue_(std::move(queue)) {}
  ~QueuedRunner() override;

  Status prepare(std::shared_ptr<const Plan> plan) override;
  Status bind_input(size_t index, const void* data) override;
  Status bind_output(size_t index, void* data) override;
  Status run(std::span<double> step_ms) override;
  void* output(size_t index) const override;
  Status trace(std::span<double> step_times) override;
  Result<GraphNodes> graph_nodes() const override;
  Status mark(size_t number) override;
  Result<double> ms_between(size_t from, size_t to) override { return queue_->ms_between(from, to); }
  Status synchronize() override;
  Status set_stream(void* stream) override;
  void* stream() const override { return queue_->stream(); }
  size_t arena_bytes() const override { return queue_->arena_bytes(); }

 private:
  Status bind(size_t port, void* data);
  Status reserve_pinned();
  std::byte* pinned(size_t port) const;
  bool has_host(size_t first, size_t end) const;
  void take_inputs() const;
  void give_outputs() const;

  Status launch();
  Status launch_graph(CapturedPlan& captured);
  Result<std::unique_ptr<CapturedPlan>> capture(bool in_place);
  bool fits(const CapturedPlan* captured) const;
  void place_ports(const std::vector<bool>& in_place);
  std::vector<bool> ports_in_place() const;
  Status make_room(const std::vector<bool>& in_place);

  // One run: copies in, steps, copies out. With `captured` it becomes a graph, whose copies are noted there; with `marked`,
  // in a graph too, step i is between marks 2 i and 2 i + 1, a run between those of its first step.
  Status enqueue(const std::vector<bool>& in_place, CapturedPlan* captured, bool marked = false);
  Status enqueue_inputs(const std::vector<bool>& in_place, CapturedPlan* captured);
  Status enqueue_copy(size_t port, CapturedPlan* captured);
  Status time_steps(std::span<double> step_ms);
  Status check_faults();
  Status check_earlier_run();

  std::shared_ptr<DeviceContext> context_;
  std::unique_ptr<DeviceQueue> queue_;
  std::vector<std::unique_ptr<ReadyPlan>> ready_;  // the current one first, then by last use
  std::vector<BoundPort> ports_;                   // inputs, then outputs of the current plan
  std::shared_ptr<void> pinned_;
  size_t pinned_bytes_ = 0;
  int steady_runs_ = 0;     // runs with the same memory that found no graph
  bool is_queued_ = false;  // a run that nobody has waited for
};

}  // namespace plica
