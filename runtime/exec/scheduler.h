#pragma once

#include <vector>

#include "graph/graph.h"

namespace plica {

// The order in which the nodes run, each behind the makers of its inputs; of several orders the one that holds least memory at
// once. A device with streams of its own orders them by events along this sequence.
std::vector<NodeId> schedule(const Graph& graph);

// Most bytes of node outputs that are alive at once in that order; views own none.
size_t peak_bytes(const Graph& graph, const std::vector<NodeId>& order);

}  // namespace plica
