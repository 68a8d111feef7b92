#include "graph/views.h"

#include <algorithm>

#include "ops/mat_mul.h"

namespace plica {

ValueId viewed(const Graph& graph, ValueId value) {
  for (NodeId id = graph.value(value).producer; id != kNone && graph.node(id).op->is_view;
       id = graph.value(value).producer)
    value = graph.node(id).inputs[0];
  return value;
}

NodeId maker_of(const Graph& graph, ValueId value) { return graph.value(viewed(graph, value)).producer; }

std::vector<Use> uses_behind_views(const Graph& graph, ValueId value) {
  std::vector<Use> uses;
  std::vector<ValueId> left{value};
  while (!left.empty()) {
    const ValueId at = left.back();
    left.pop_back();
    const std::vector<NodeId>& users = graph.value(at).users;
    for (auto user = users.begin(); user != users.end(); ++user) {
      const Node& node = graph.node(*user);
      if (node.op->is_view)
        left.push_back(node.outputs[0]);
      else if (std::find(users.begin(), user, *user) == user)  // one that reads it twice stands twice
        for (size_t i = 0; i < node.inputs.size(); ++i)
          if (node.inputs[i] == at) uses.push_back({*user, i});
    }
  }
  return uses;
}

bool is_seen_outside(const Graph& graph, ValueId value) {
  if (graph.is_output(value)) return true;
  for (NodeId id : graph.value(value).users)
    if (graph.node(id).op->is_view && is_seen_outside(graph, graph.node(id).outputs[0])) return true;
  return false;
}

bool is_projection(const Graph& graph, const Node& node) {
  return node.op == &mat_mul_op && graph.constant(viewed(graph, node.inputs[1])) != nullptr &&
         graph.type(node.inputs[1]).shape.size() == 2;
}

}  // namespace plica
