#pragma once

#include <cstddef>
#include <vector>

#include "ops/step_run.h"
#include "runtime/exec/plan.h"

namespace plica {

// The operands of all steps of a plan in one arena, laid out once. What lies in the caller's memory is patched when that memory
// changes.
class StepOperands {
 public:
  // `arena` has at least arena_bytes, `tables` what table_offsets() says; both outlive this. Outputs lie in the arena until they
  // are bound.
  StepOperands(const Plan& plan, std::byte* arena, std::byte* tables);

  void bind_input(size_t index, const void* data);  // dense, of the plan's type; null only where it has no elements
  void bind_output(size_t index, void* data);       // null: the output's place in the arena
  void* output(size_t index) const { return outputs_[index].data; }

  // Sets the operands, the scratch and the state of a step. Allocates nothing.
  void fill(size_t step, KernelArgs& args) const;

  // Sets what a run of the plan has besides its steps and its state. Allocates nothing.
  void fill(const StepRun& run, RunArgs& args) const;

 private:
  struct Call {
    const Step* step;
    size_t in, out;  // first operand in operands_
    void* scratch;
  };
  // An operand in the caller's memory, `offset_bytes` behind its start.
  struct Use {
    size_t operand;
    int64_t offset_bytes;
  };
  struct Port {
    void* data = nullptr;
    std::vector<Use> uses;
  };

  void add_operand(const Place& place, std::byte* tables, const std::vector<size_t>& offsets);
  void bind(Port& port, void* data);

  const Plan& plan_;
  std::byte* arena_;
  std::vector<TensorView> operands_;
  std::vector<Call> calls_;
  std::vector<size_t> run_constants_;  // by run: the first in operands_; its own memory is behind the last
  std::vector<Port> inputs_, outputs_;
};

}  // namespace plica
