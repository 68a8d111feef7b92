#include "graph/passes/known_values.h"

#include <algorithm>

namespace plica {

KnownValues::KnownValues(const Graph& graph) : known_(graph.num_values(), false) {
  for (size_t i = 0; i < known_.size(); ++i) known_[i] = graph.constant(static_cast<ValueId>(i)) != nullptr;
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const bool all = std::all_of(node.inputs.begin(), node.inputs.end(),
                                 [&](ValueId v) { return v == kNone || known_[static_cast<size_t>(v)]; });
    for (ValueId output : node.outputs) known_[static_cast<size_t>(output)] = all;
  }
}

}  // namespace plica
