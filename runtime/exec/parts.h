#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace plica {

// A value that is written where it will stand in the result of a Concat, its only reader.
struct Part {
  ValueId whole = kNone;
  size_t axis = 0;
  int64_t start = 0;  // of its elements along the axis
};

struct Parts {
  std::unordered_map<ValueId, Part> parts;
  // By whole: the value whose memory it may take over part by part, where each part adds to what stands there and nobody else
  // reads that once the part is written; kNone: there is none.
  std::unordered_map<ValueId, ValueId> wholes;
};

// For nodes that run in that order.
Parts find_parts(const Graph& graph, const std::vector<NodeId>& order);

}  // namespace plica
