#pragma once

#include <vector>

#include "plica/session.h"
#include "runtime/device/device_context.h"
#include "tools/resident.h"

namespace plica {

// What running took, in ms. One repetition is one pass over all batches.
struct BenchTimes {
  double first_ms = 0;          // the first pass: planning, memory, graphs
  std::vector<double> ms;       // each repetition, from inputs that lie ready on the device to outputs there
  std::vector<double> cpu_ms;   // of this process meanwhile
  double back_to_back_ms = 0;   // mean of repetitions queued one behind the other; 0 on the CPU
  std::vector<double> host_us;  // from entry to return of one run; none on the CPU
  GraphNodes graph_nodes;       // what one run launches, of the last batch
  size_t mapped_bytes = 0;      // that the device has given for the arena, inputs and outputs lying outside it
};

// Inputs and outputs lie on the model's device; afterwards the last batch is bound as it is. `batches` hold the inputs in the
// model's order.
Result<BenchTimes> time_runs(Session& session, const std::vector<std::vector<Tensor>>& batches, int repeat);

}  // namespace plica
