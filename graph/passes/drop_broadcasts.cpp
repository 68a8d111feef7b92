#include <algorithm>
#include <optional>

#include "graph/passes/passes.h"
#include "graph/patch.h"
#include "ops/expand.h"
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

// Whether element-wise nodes are all that reads it, so that it may as well be broadcast by them.
bool is_for_pointwise(const Graph& graph, ValueId id) {
  const auto& users = graph.value(id).users;
  return !users.empty() && !graph.is_output(id) &&
         std::all_of(users.begin(), users.end(), [&](NodeId user) { return is_pointwise(*graph.node(user).op); });
}

// A node of nothing but broadcast operands, as a mask that was repeated for each row, is made before it is broadcast; whether
// it was such a node.
Result<bool> broadcast_after(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  if (node.outputs.size() != 1 || !is_for_pointwise(graph, node.outputs[0])) return false;
  const Shape shape = graph.type(node.outputs[0]).shape;
  std::vector<ValueId> inputs = node.inputs;
  for (ValueId& input : inputs)
    if (graph.producer_of(input, expand_op) != kNone) input = before_broadcast(graph, input, shape);
  const std::optional<Shape> common = common_shape(graph, inputs);
  if (!common || inputs == node.inputs || num_elements(*common) >= num_elements(shape)) return false;
  Patch patch(graph, node.name);
  PLICA_TRY(const ValueId made, patch.add(*node.op, node.attrs, std::move(inputs)));
  PLICA_TRY(const ValueId broadcast, patch.add(expand_op, ops::Expand{shape}, {made}));
  patch.replace(node.outputs[0], broadcast);
  PLICA_CHECK(patch.apply());
  return true;
}

}  // namespace

// Takes an operand of an element-wise node from before its Expand, where broadcasting does the same; what is made of nothing else
// is broadcast itself.
Result<int> drop_broadcasts(Graph& graph, ConstantStore&) {
  int num_edits = 0;
  for (NodeId id : graph.order()) {
    if (graph.node(id).op == nullptr || !is_pointwise(*graph.node(id).op)) continue;
    num_edits += take_operands_before(graph, id);
    PLICA_TRY(const bool is_later, broadcast_after(graph, id));
    num_edits += is_later;
  }
  return num_edits;
}

}  // namespace plica
