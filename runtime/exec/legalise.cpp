#include "runtime/exec/legalise.h"

#include "ops/map.h"
#include "ops/pointwise.h"

namespace plica {
namespace {

ops::Map single_instruction(const Graph& graph, const Node& node) {
  const DType dtype = graph.type(node.outputs[0]).dtype;
  const auto inputs = static_cast<int>(node.inputs.size());
  return {{inputs,
           {{fn_of(*node.op), dtype, 0, static_cast<int16_t>(inputs > 1 ? 1 : 0),
             static_cast<int16_t>(inputs > 2 ? 2 : 0)}},
           {}}};
}

}  // namespace

Status legalise(Graph& graph) {
  for (NodeId id : graph.order()) {
    const Node node = graph.node(id);
    if (!is_pointwise(*node.op)) continue;
    PLICA_TRY(const NodeId map,
              graph.add_node(*find_op("Map"), single_instruction(graph, node), node.inputs, node.name));
    graph.replace_uses(node.outputs[0], graph.node(map).outputs[0]);
    graph.remove_if_dead(id);
  }
  return {};
}

}  // namespace plica
