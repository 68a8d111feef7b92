#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "runtime/exec/plan.h"

namespace plica {

// A stretch of memory of a plan in the making.
struct Buffer {
  Place::Kind kind = Place::Kind::kArena;  // or kInput, kOutput
  int index = 0;                           // of the graph's input or output
  size_t bytes = 0;
  int uses = 0;            // reads of values that lie here, still to come
  bool is_result = false;  // a value here is an output of the graph: the caller may bring the memory
};

// The steps in order, before memory is planned: Place::index is the number of a buffer, offsets count from its start.
struct Draft {
  std::vector<Step> steps;
  std::vector<Buffer> buffers;
};

// Chooses kernels and layouts for the nodes in that order, turns views into strides and adds the copies that are needed.
Result<Draft> draft_steps(const Graph& graph, const std::vector<NodeId>& order, const PlanOptions& options,
                          ConstantStore& constants);

}  // namespace plica
