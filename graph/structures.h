#pragma once

#include <map>
#include <string>

#include "graph/graph.h"

namespace plica {

using StructureSums = std::map<std::string, int, std::less<>>;  // {"attention": 2, ...}

// What a fused graph is made of, as a reader of the model would count it: what its operators stand for, a rotation of queries and
// keys as one, a SiLU that multiplies another projection as a SwiGLU; triangle multiplications and transitions (blocks.h);
// and what is to be said of its attention (attention_kinds.h).
StructureSums count_structures(const Graph& graph);

}  // namespace plica
