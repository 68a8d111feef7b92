#include "graph/blocks.h"

#include <algorithm>

#include "graph/passes/axis_atoms.h"
#include "graph/views.h"
#include "ops/concat.h"
#include "ops/gated_mat_mul.h"
#include "ops/layer_norm.h"
#include "ops/map.h"
#include "ops/mat_mul.h"

namespace plica {
namespace {

using Gated = ops::GatedMatMul;

constexpr size_t kGate = 3;  // of a product

bool is_constant(const Graph& graph, ValueId value) { return graph.constant(viewed(graph, value)) != nullptr; }

// Whether the node normalises the last axis of this operand.
bool normalises(const Node& node, size_t operand) {
  if (node.op == &layer_norm_op || node.op == &rms_norm_op) return operand == 0;
  if (node.op != &gated_mat_mul_op) return false;
  return (operand == Gated::kA && node.inputs[Gated::kGamma] != kNone) ||
         (operand == Gated::kB && node.inputs[Gated::kGateGamma] != kNone);
}

// Whether the last axis of `value`, a view of a product's result, is one of the axes before its rows and columns.
bool ends_in_batch_axis(const Graph& graph, ValueId value, ValueId product) {
  AxisAtoms atoms;
  AtomView view{value, {}};
  for (const int64_t size : graph.type(value).shape) view.axes.push_back(atoms.add(size));
  const AxisAtoms::Atoms last = view.axes.back();
  const AtomView source = viewed(graph, atoms, view);
  if (source.value != product || last.empty()) return false;
  const AxisAtoms::Axes batch(source.axes.begin(), source.axes.end() - 2);
  const AxisAtoms::Atoms wanted = atoms.whole(last), outer = atoms.whole(batch);
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](int atom) { return std::find(outer.begin(), outer.end(), atom) != outer.end(); });
}

bool is_hidden_activation(ops::Activation activation) {
  using ops::Activation;
  return activation == Activation::kRelu || activation == Activation::kGelu || activation == Activation::kGeluTanh ||
         activation == Activation::kSilu;
}

bool has_hidden_activation(const ops::Program& program) {
  using ops::Fn;
  return std::any_of(program.instructions.begin(), program.instructions.end(), [](const ops::Instruction& i) {
    return i.fn == Fn::kRelu || i.fn == Fn::kGelu || i.fn == Fn::kGeluTanh || i.fn == Fn::kSilu;
  });
}

// The projection's input behind an activated hidden value; kNone where `hidden` is none. Factors such as masks may stand
// behind the activation, in a few steps.
ValueId source_of_hidden(const Graph& graph, ValueId hidden, int steps = 3) {
  const NodeId id = maker_of(graph, hidden);
  if (id == kNone || steps == 0) return kNone;
  const Node& node = graph.node(id);
  if (node.op == &gated_mat_mul_op)
    return is_hidden_activation(node.attrs.as<Gated>().activation) ? node.inputs[Gated::kA] : kNone;
  if (is_projection(graph, node)) {
    const ValueId gate = node.inputs[kGate];
    const bool is_activated = is_hidden_activation(node.attrs.as<ops::MatMul>().activation) ||
                              (gate != kNone && source_of_hidden(graph, gate, steps - 1) != kNone);
    return is_activated ? node.inputs[0] : kNone;
  }
  if (node.op != &map_op) return kNone;
  const bool is_activated = has_hidden_activation(node.attrs.as<ops::Map>().program);
  for (const ValueId input : node.inputs) {
    const NodeId maker = maker_of(graph, input);
    if (is_activated && maker != kNone && is_projection(graph, graph.node(maker))) return graph.node(maker).inputs[0];
    if (!is_activated)
      if (const ValueId source = source_of_hidden(graph, input, steps - 1); source != kNone) return source;
  }
  return kNone;
}

// The products of all channels: of those that are made for some channels at a time the Concat, told by the first of them;
// kNone for the others.
ValueId all_channels(const Graph& graph, ValueId products) {
  const std::vector<Use> uses = uses_behind_views(graph, products);
  if (uses.size() != 1 || graph.node(uses[0].node).op != &concat_op) return products;
  const Node& concat = graph.node(uses[0].node);
  const auto rank = static_cast<int64_t>(graph.type(products).shape.size());
  if (concat.inputs[uses[0].operand] != products || concat.attrs.as<ops::Concat>().axis >= rank - 2) return products;
  return uses[0].operand == 0 ? concat.outputs[0] : kNone;
}

}  // namespace

bool is_triangle_multiplication(const Graph& graph, NodeId product) {
  const Node& node = graph.node(product);
  if (node.op != &mat_mul_op || is_constant(graph, node.inputs[0]) || is_constant(graph, node.inputs[1])) return false;
  const Shape &a = graph.type(node.inputs[0]).shape, &y = graph.type(node.outputs[0]).shape;
  if (y.size() < 3 || y.end()[-1] != y.end()[-2] || a.back() != y.back()) return false;
  const ValueId products = all_channels(graph, node.outputs[0]);
  if (products == kNone) return false;
  const std::vector<Use> uses = uses_behind_views(graph, products);
  return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
    const Node& reader = graph.node(use.node);
    return normalises(reader, use.operand) && ends_in_batch_axis(graph, reader.inputs[use.operand], products);
  });
}

bool ends_transition(const Graph& graph, NodeId product) {
  const Node& node = graph.node(product);
  if (!is_projection(graph, node) || is_hidden_activation(node.attrs.as<ops::MatMul>().activation)) return false;
  const ValueId source = source_of_hidden(graph, node.inputs[0]);
  return source != kNone && graph.type(source).shape.back() == graph.type(node.outputs[0]).shape.back() &&
         source_of_hidden(graph, source) == kNone;
}

}  // namespace plica
