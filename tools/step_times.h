#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/exec/plan.h"
#include "tools/machine_limit.h"

namespace plica {

// The median time of each step over several runs, in ms. `runs` hold one time a step each.
std::vector<double> median_times(const std::vector<std::vector<double>>& runs);

// What the machine reaches at best in a step: its arithmetic depends on the types and the precision.
struct StepLimit {
  MachineLimit others;             // all steps but those below
  double half_flops_per_s = 0;     // where results are of 16 bits; 0: as others
  double product_flops_per_s = 0;  // where f32 products may use matrix units; 0: as others

  double flops_per_s(const Step& step) const;
};

// Of a GPU by its rated speeds; of the CPU as measured now.
StepLimit machine_limit(const DeviceContext& context, Precision precision);

// A line a step: share of the run, time, GB/s, GFLOP/s, percent of the machine's limit, operator, kernel, shapes. The limit of a
// step is the longer of its arithmetic and its memory traffic at the machine's best rates; small steps that stay in the
// caches may beat it.
std::string step_table(const Plan& plan, const std::vector<double>& step_ms, const StepLimit& limit);

// The same as JSON, an object a step. Steps that are one launch with others, but timed alone, say so in "run".
nlohmann::ordered_json step_rows(const Plan& plan, const std::vector<double>& step_ms, const StepLimit& limit);

}  // namespace plica
