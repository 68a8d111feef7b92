#pragma once

#include <vector>

#include "runtime/exec/plan.h"

namespace plica {

// Which earlier steps each step has to wait for: those that touch memory that it writes, and those that write memory that it
// touches. Of steps that wait for each other only the last is named. The first step of a run waits for what any of it has to, and
// for the run before it; the others each wait for the one before, and for any of them others wait by the last. Empty where running
// one by one is about as fast.
std::vector<std::vector<int>> find_branches(const Plan& plan, const DeviceLimits& limits);

// A row for each step such that the steps of a row run one behind the other, as on a stream: the row of what it waits for
// where that is free, else the first one that is. All are 0 without waits.
std::vector<int> rows_of(const std::vector<std::vector<int>>& waits, size_t num_steps);

}  // namespace plica
