#pragma once

#include <vector>

#include "runtime/exec/plan.h"

namespace plica {

// Which earlier steps each step has to wait for: those that touch memory that it writes, and those that write memory that it
// touches. Of steps that wait for each other only the last is named. Empty where running one by one is about as fast.
std::vector<std::vector<int>> find_branches(const Plan& plan, const DeviceLimits& limits);

}  // namespace plica
