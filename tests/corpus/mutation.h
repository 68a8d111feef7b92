#pragma once

#include "graph/graph.h"

namespace plica::test {

// The same function written in another way: operands of commutative operators swapped, factors of one, summands of zero
// and idle views put in, nodes in another order, values without their names; different for each seed.
Result<Graph> mutated(const Graph& graph, uint64_t seed);

}  // namespace plica::test
