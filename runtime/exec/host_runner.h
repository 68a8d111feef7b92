#pragma once

#include <vector>

#include "runtime/device/arena.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/plan_runner.h"

namespace plica {

// Runs in the calling thread.
class HostRunner final : public PlanRunner {
 public:
  Status prepare(std::shared_ptr<const Plan> plan) override;
  Status bind_input(size_t index, const void* data) override { return executor_->bind_input(index, data), Status(); }
  Status bind_output(size_t index, void* data) override { return executor_->bind_output(index, data), Status(); }
  Status run(std::span<double> step_ms) override { return executor_->run(step_ms); }
  void* output(size_t index) const override { return executor_->output(index); }
  Status trace(std::span<double> step_times) override;
  Result<GraphNodes> graph_nodes() const override { return GraphNodes{}; }
  Status mark(size_t number) override;
  Result<double> ms_between(size_t from, size_t to) override { return marks_ms_[to] - marks_ms_[from]; }
  Status synchronize() override { return {}; }
  Status set_stream(void* stream) override;
  void* stream() const override { return nullptr; }
  size_t arena_bytes() const override { return arena_.num_bytes(); }

 private:
  Arena arena_;
  std::unique_ptr<Executor> executor_;
  std::vector<double> marks_ms_;
};

}  // namespace plica
