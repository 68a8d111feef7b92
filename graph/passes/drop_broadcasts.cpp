#include <optional>

#include "graph/passes/passes.h"
#include "ops/op.h"
#include "ops/pointwise.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

// What `id`, of which an element-wise node makes something of the shape `result`, is before views that broadcasting makes
// superfluous: Expand, and a Reshape that puts ones in front. One that has all of the result's elements stays: it is what the
// node is about, and other nodes, which cannot do without the ones, read it too.
ValueId before_broadcast(const Graph& graph, ValueId id, const Shape& result) {
  const NodeId producer = graph.value(id).producer;
  if (producer == kNone) return id;
  const Node& node = graph.node(producer);
  if (node.op != &expand_op && node.op != &reshape_op) return id;
  const Shape &to = graph.type(id).shape, &from = graph.type(node.inputs[0]).shape;
  if (node.op == &expand_op) return node.inputs[0];
  if (from.size() > to.size() || num_elements(from) == num_elements(result)) return id;
  const auto in_front = static_cast<std::ptrdiff_t>(to.size() - from.size());
  for (std::ptrdiff_t i = 0; i < in_front; ++i)
    if (to[static_cast<size_t>(i)] != 1) return id;
  return std::equal(from.begin(), from.end(), to.begin() + in_front) ? node.inputs[0] : id;
}

// What the operands broadcast to; nullopt where they do not.
std::optional<Shape> common_shape(const Graph& graph, const std::vector<ValueId>& inputs) {
  Shape shape;
  for (ValueId input : inputs) {
    auto both = broadcast(shape, graph.type(input).shape);
    if (!both) return std::nullopt;
    shape = *std::move(both);
  }
  return shape;
}

// Takes operands from before broadcasts that the node does by itself; the number of them.
int take_operands_before(Graph& graph, NodeId id) {
  int num_edits = 0;
  const Shape shape = graph.type(graph.node(id).outputs[0]).shape;
  for (size_t i = 0; i < graph.node(id).inputs.size();) {
    std::vector<ValueId> inputs = graph.node(id).inputs;
    const ValueId before = inputs[i];
    inputs[i] = before_broadcast(graph, before, shape);
    if (inputs[i] == before || common_shape(graph, inputs) != shape) {
      ++i;
      continue;
    }
    graph.set_input(id, i, inputs[i]);
    graph.remove_if_dead(graph.value(before).producer);
    ++num_edits;
  }
  return num_edits;
}

}  // namespace

// Takes an operand of an element-wise node from before its Expand, where broadcasting does the same.
Result<int> drop_broadcasts(Graph& graph, ConstantStore&) {
  int num_edits = 0;
  for (NodeId id : graph.order()) {
    if (graph.node(id).op == nullptr || !is_pointwise(*graph.node(id).op)) continue;
    num_edits += take_operands_before(graph, id);
  }
  return num_edits;
}

}  // namespace plica
