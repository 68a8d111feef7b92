#include "graph/attention_kinds.h"

#include <algorithm>

#include "graph/passes/axis_atoms.h"
#include "graph/views.h"
#include "ops/map.h"
#include "ops/mat_mul.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

// Attention's operands.
constexpr size_t kQ = 0, kBias = 3, kMask = 4, kGate = 5;
// A product's.
constexpr size_t kA = 0, kProductGate = 3, kResidual = 4;

// The product that makes the scores of a Softmax; null where it is none.
const Node* score_product(const Graph& graph, const Node& softmax) {
  const NodeId id = maker_of(graph, softmax.inputs[0]);
  return id != kNone && graph.node(id).op == &mat_mul_op ? &graph.node(id) : nullptr;
}

// Whether a float differs between heads, queries and keys: the last three axes. Without heads the third is the batch.
bool is_bias(const Graph& graph, const Node& node, size_t operand) {
  if (operand >= node.inputs.size() || node.inputs[operand] == kNone) return false;
  if (graph.type(node.outputs[0]).shape.size() < 4) return false;
  const TensorType& type = graph.type(node.inputs[operand]);
  const size_t rank = type.shape.size();
  return is_float(type.dtype) && rank >= 3 &&
         std::all_of(type.shape.end() - 3, type.shape.end(), [](int64_t size) { return size > 1; });
}

// Whether the last axis of queries holds more than neighbouring elements of what they are cut from: the width of a head
// and, beside it, an axis that lies elsewhere.
bool is_tied(const Graph& graph, ValueId q) {
  AxisAtoms atoms;
  AtomView view{q, {}};
  for (const int64_t size : graph.type(q).shape) view.axes.push_back(atoms.add(size));
  const AxisAtoms::Atoms depth = view.axes.back();
  const AtomView source = viewed(graph, atoms, view);
  const AxisAtoms::Atoms summed = atoms.whole(depth), all = atoms.whole(source.axes);
  return std::search(all.begin(), all.end(), summed.begin(), summed.end()) == all.end();
}

bool is_reduced(const Graph& graph, ValueId value) {
  const NodeId id = maker_of(graph, value);
  return id != kNone && graph.node(id).op == &reduce_op;
}

// Whether the value is a mean or sum over an axis, or made of one element by element: all it reads are such or smaller.
bool is_mean(const Graph& graph, ValueId value) {
  const NodeId id = maker_of(graph, value);
  if (id == kNone || is_reduced(graph, value)) return id != kNone;
  const Node& node = graph.node(id);
  if (node.op != &map_op) return false;
  bool has_reduced = false;
  for (const ValueId input : node.inputs) {
    if (num_elements(graph.type(input).shape) != num_elements(graph.type(value).shape)) continue;
    if (!is_reduced(graph, input)) return false;
    has_reduced = true;
  }
  return has_reduced;
}

bool has_global_query(const Graph& graph, ValueId q) {
  NodeId id = maker_of(graph, q);
  while (id != kNone && graph.node(id).op == &map_op && graph.node(id).inputs.size() == 1)
    id = maker_of(graph, graph.node(id).inputs[0]);  // a scale
  return id != kNone && is_projection(graph, graph.node(id)) && is_mean(graph, graph.node(id).inputs[kA]);
}

bool is_sigmoid(const Graph& graph, ValueId value) {
  const NodeId id = maker_of(graph, value);
  if (id == kNone) return false;
  const Node& node = graph.node(id);
  if (node.op == &mat_mul_op) return node.attrs.as<ops::MatMul>().activation == ops::Activation::kSigmoid;
  return node.op == &map_op && node.attrs.as<ops::Map>().program.instructions.back().fn == ops::Fn::kSigmoid;
}

// Whether an element-wise node multiplies a sigmoid, made by itself or before, by something that is no number.
bool multiplies_a_sigmoid(const Graph& graph, const Node& node) {
  const ops::Program& program = node.attrs.as<ops::Map>().program;
  const auto is_gate = [&](int16_t reg) {
    if (reg < program.num_inputs) return is_sigmoid(graph, node.inputs[static_cast<size_t>(reg)]);
    return program.instructions[static_cast<size_t>(reg - program.num_inputs)].fn == ops::Fn::kSigmoid;
  };
  return std::any_of(program.instructions.begin(), program.instructions.end(), [&](const ops::Instruction& i) {
    return i.fn == ops::Fn::kMul && i.a >= 0 && i.b >= 0 && is_gate(i.a) != is_gate(i.b);
  });
}

// Whether a product that reads the attended values, as its first factor or as its gate, multiplies by a sigmoid.
bool product_gates(const Graph& graph, const Node& node, size_t operand) {
  const auto& attrs = node.attrs.as<ops::MatMul>();
  if (operand == kProductGate) return attrs.activation == ops::Activation::kSigmoid;
  return node.inputs[kProductGate] != kNone && (attrs.gate_sigmoid || is_sigmoid(graph, node.inputs[kProductGate]));
}

// Gates between attended values and the residual stream, the output projection among the steps.
int num_gates_behind(const Graph& graph, ValueId value) {
  int num = 0;
  for (bool is_projected = false;;) {
    const std::vector<Use> uses = uses_behind_views(graph, value);
    if (uses.size() != 1) return num;
    const Node& node = graph.node(uses[0].node);
    if (node.op == &map_op) {
      if (!multiplies_a_sigmoid(graph, node)) return num;
      ++num;
    } else if (node.op == &mat_mul_op && (uses[0].operand == kA || uses[0].operand == kProductGate)) {
      if (uses[0].operand == kA && is_projected) return num;
      is_projected = is_projected || uses[0].operand == kA;
      num += product_gates(graph, node, uses[0].operand);
      if (node.inputs[kResidual] != kNone) return num;
    } else {
      return num;
    }
    value = node.outputs[0];
  }
}

AttentionKinds kinds_of_weights(const Graph& graph, const Node& softmax) {
  AttentionKinds kinds;
  const ValueId weights = softmax.outputs[0];
  const std::vector<Use> uses = uses_behind_views(graph, weights);
  kinds.has_weights_out = is_seen_outside(graph, weights) || uses.size() > 1;
  kinds.is_biased = is_bias(graph, softmax, 1) || is_bias(graph, softmax, 2);
  if (const Node* scores = score_product(graph, softmax)) {
    kinds.is_biased = kinds.is_biased || is_bias(graph, *scores, kResidual);
    kinds.is_tied = is_tied(graph, scores->inputs[kA]);
    kinds.has_global_query = has_global_query(graph, scores->inputs[kA]);
  }
  for (const Use& use : uses)
    if (graph.node(use.node).op == &mat_mul_op) {
      const Node& product = graph.node(use.node);
      kinds.num_gates = product_gates(graph, product, use.operand) + num_gates_behind(graph, product.outputs[0]);
      break;
    }
  return kinds;
}

}  // namespace

AttentionKinds kinds_of_attention(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op == &softmax_op) return kinds_of_weights(graph, node);
  AttentionKinds kinds;
  kinds.is_biased = is_bias(graph, node, kBias) || is_bias(graph, node, kMask);
  kinds.is_tied = is_tied(graph, node.inputs[kQ]);
  kinds.has_global_query = has_global_query(graph, node.inputs[kQ]);
  kinds.num_gates = (node.inputs[kGate] != kNone) + num_gates_behind(graph, node.outputs[0]);
  return kinds;
}

}  // namespace plica
