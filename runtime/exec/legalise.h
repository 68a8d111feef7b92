#pragma once

#include "graph/graph.h"

namespace plica {

// Every element-wise primitive becomes a Map of one instruction: only Map has kernels.
Status legalise(Graph& graph);

}  // namespace plica
