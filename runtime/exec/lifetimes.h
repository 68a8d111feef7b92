#pragma once

#include <span>
#include <vector>

#include "runtime/exec/draft.h"

namespace plica {

// Of what lies in the arena: the buffers that steps touch, then the scratch of the steps, then that of the runs. Where work is
// queued, what is small is kept longer than it is needed, so that neighbouring steps may run side by side.
std::vector<Lifetime> lifetimes_of(const Draft& draft, std::span<const StepRun> runs, bool is_queued);

}  // namespace plica
