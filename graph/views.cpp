#include "graph/views.h"

#include <algorithm>

#include "ops/map.h"
#include "ops/mat_mul.h"

namespace plica {

namespace {

bool is_cast(const Node& node) {
  if (node.op != &map_op || node.inputs.size() != 1) return false;
  const ops::Program& program = node.attrs.as<ops::Map>().program;
  return program.instructions.size() == 1 && program.instructions[0].fn == ops::Fn::kCast;
}

bool passes_on(const Node& node) { return node.op->is_view || is_cast(node); }

}  // namespace

ValueId viewed(const Graph& graph, ValueId value) {
  for (NodeId id = graph.value(value).producer; id != kNone && passes_on(graph.node(id));
       id = graph.value(value).producer)
    value = graph.node(id).inputs[0];
  return value;
}

AtomView viewed(const Graph& graph, AxisAtoms& atoms, AtomView view) {
  for (;;) {
    view = source_of(graph, atoms, std::move(view));
    const NodeId id = graph.value(view.value).producer;
    if (id == kNone || !is_cast(graph.node(id))) return view;
    view.value = graph.node(id).inputs[0];
  }
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
      if (passes_on(node))
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
    if (passes_on(graph.node(id)) && is_seen_outside(graph, graph.node(id).outputs[0])) return true;
  return false;
}

bool is_projection(const Graph& graph, const Node& node) {
  return node.op == &mat_mul_op && graph.constant(viewed(graph, node.inputs[1])) != nullptr &&
         graph.type(node.inputs[1]).shape.size() == 2;
}

}  // namespace plica
