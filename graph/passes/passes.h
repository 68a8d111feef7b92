#pragma once

#include "graph/graph.h"

namespace plica {

// The passes; each file says what it does. All return the number of edits.
Result<int> remove_dead(Graph& graph, ConstantStore& constants);

}  // namespace plica
