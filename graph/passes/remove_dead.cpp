#include "graph/passes/passes.h"

namespace plica {

// Nodes whose results nobody reads.
Result<int> remove_dead(Graph& graph, ConstantStore&) {
  const size_t before = graph.order().size();
  graph.remove_dead();
  return static_cast<int>(before - graph.order().size());
}

}  // namespace plica
