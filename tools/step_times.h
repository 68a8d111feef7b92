#pragma once

#include <string>
#include <vector>

#include "runtime/exec/plan.h"
#include "tools/machine_limit.h"

namespace plica {

// The median time of each step over several runs, in ms. `runs` hold one time a step each.
std::vector<double> median_times(const std::vector<std::vector<double>>& runs);

// A line a step: share of the run, time, GB/s, GFLOP/s, percent of the machine's limit, operator, kernel, shapes. The limit of a
// step is the longer of its arithmetic and its memory traffic at the machine's best rates; small steps that stay in the
// caches may beat it.
std::string step_table(const Plan& plan, const std::vector<double>& step_ms, const MachineLimit& limit);

}  // namespace plica
