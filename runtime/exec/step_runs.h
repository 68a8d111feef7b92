#pragma once

#include <vector>

#include "runtime/exec/draft.h"

namespace plica {

// The runs of a plan that may have them: of the device's kernels and those of the options. Steps that a run would stand around
// and that need nothing of it are moved ahead of it. No step of a run may find a fault, is of an operator whose kernel is forced, or
// touches memory that the caller brings: its operands lie where they lie for as long as the session. What would stand in the memory
// of an output until the last step writes that in place gets memory of its own.
Result<std::vector<StepRun>> join_steps(Draft& draft, const PlanOptions& options, ConstantStore& constants);

}  // namespace plica
