#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "runtime/exec/step_operands.h"

namespace plica {

// Runs one plan of the host in one arena. One thread at a time.
class Executor {
 public:
  // `arena` has at least arena_bytes and outlives the executor. Outputs lie in it until they are bound.
  Executor(std::shared_ptr<const Plan> plan, std::byte* arena)
      : plan_(std::move(plan)), operands_(*plan_, arena, nullptr) {}

  void bind_input(size_t index, const void* data) { operands_.bind_input(index, data); }
  void bind_output(size_t index, void* data) { operands_.bind_output(index, data); }

  // A loop over the steps: nothing is looked up, allocated or computed. kInvalidInput naming the step where a kernel finds its data
  // wrong. With `step_ms` (one a step) each step is timed.
  Status run(std::span<double> step_ms = {});

  const Plan& plan() const { return *plan_; }
  void* output(size_t index) const { return operands_.output(index); }

 private:
  std::shared_ptr<const Plan> plan_;
  StepOperands operands_;
};

// The fault that a kernel found in its data, with the step's name.
Error to_error(const Fault& fault, const Step& step);

}  // namespace plica
