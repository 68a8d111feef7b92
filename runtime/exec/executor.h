#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/exec/plan.h"

namespace plica {

// Runs one plan in one arena. The operands of all steps are laid out once; what lies in the caller's memory is patched when that
// memory changes. One thread at a time.
class Executor {
 public:
  // `arena` has at least arena_bytes and outlives the executor. Outputs lie in it until they are bound.
  Executor(std::shared_ptr<const Plan> plan, std::byte* arena);

  void bind_input(size_t index,
                  const void* data);  // dense, of the plan's type, aligned to its elements; null only where it has none
  void bind_output(size_t index, void* data);  // null: the output's place in the arena

  // A loop over the steps: nothing is looked up, allocated or computed. kInvalidInput naming the step where a kernel finds its data
  // wrong. With `step_ms` (one a step) each step is timed.
  Status run(std::span<double> step_ms = {});

  const Plan& plan() const { return *plan_; }
  void* output(size_t index) const { return outputs_[index].data; }

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

  void add_operand(const Place& place);
  void bind(Port& port, void* data);

  std::shared_ptr<const Plan> plan_;
  std::byte* arena_;
  std::vector<TensorView> operands_;
  std::vector<Call> calls_;
  std::vector<Port> inputs_, outputs_;
};

}  // namespace plica
