#include "graph/structures.h"

#include <algorithm>
#include <set>
#include <string>

#include "graph/attention_kinds.h"
#include "graph/blocks.h"
#include "graph/views.h"
#include "ops/gated_mat_mul.h"
#include "ops/map.h"
#include "ops/mat_mul.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

// The Rotary that a value is a view or a multiple of, or of its first channels; kNone where there is none.
NodeId rotary_behind(const Graph& graph, ValueId value) {
  NodeId id = graph.value(value).producer;
  while (id != kNone && graph.node(id).op != &rotary_op) {
    const Node& node = graph.node(id);
    const bool passes = node.op->is_view || node.op == &concat_op || (node.op == &map_op && node.inputs.size() == 1);
    if (!passes) return kNone;
    id = graph.value(node.inputs[0]).producer;
  }
  return id;
}

// Whether the operands of scores, queries and keys, were rotated apart.
bool rotates_twice(const Graph& graph, const Node& node) {
  if (node.op != &attention_op && node.op != &mat_mul_op) return false;
  const NodeId q = rotary_behind(graph, node.inputs[0]), k = rotary_behind(graph, node.inputs[1]);
  return q != kNone && k != kNone && q != k;
}

// Whether a rotation of single pairs goes into a product with a constant: spectra, multiplied as complex numbers and turned back.
bool multiplies_spectra(const Graph& graph, const Node& node) {
  if (node.op != &rotary_op || graph.type(node.outputs[0]).shape.back() != 2) return false;
  const std::vector<Use> uses = uses_behind_views(graph, node.outputs[0]);
  return !uses.empty() && !is_seen_outside(graph, node.outputs[0]) &&
         std::all_of(uses.begin(), uses.end(),
                     [&](const Use& use) { return use.operand == 0 && is_projection(graph, graph.node(use.node)); });
}

// Products of a SiLU and something that is no number.
int num_silu_gates(const ops::Program& program) {
  int num = 0;
  const auto is_silu = [&](int16_t reg) {
    const int at = reg - program.num_inputs;
    return at >= 0 && program.instructions[static_cast<size_t>(at)].fn == ops::Fn::kSilu;
  };
  for (const ops::Instruction& instruction : program.instructions)
    num += instruction.fn == ops::Fn::kMul && instruction.a >= 0 && instruction.b >= 0 &&
           is_silu(instruction.a) != is_silu(instruction.b);
  return num;
}

int num_swiglus(const Node& node) {
  if (node.op == &map_op) return num_silu_gates(node.attrs.as<ops::Map>().program);
  if (node.op != &mat_mul_op) return 0;
  return node.attrs.as<ops::MatMul>().activation == ops::Activation::kSilu && node.inputs[3] != kNone;
}

// Whether an element-wise node clips differences of integers: of places, each of some with each of others or pair by pair, which a
// one-hot or a table takes further.
bool is_relative_position(const Graph& graph, const Node& node) {
  const TensorType& y = graph.type(node.outputs[0]);
  if (node.op != &map_op || !is_integer(y.dtype)) return false;
  const ops::Program& program = node.attrs.as<ops::Map>().program;
  const auto has = [&](ops::Fn fn) {
    return std::any_of(program.instructions.begin(), program.instructions.end(),
                       [&](const ops::Instruction& i) { return i.fn == fn; });
  };
  const auto is_input = [&](int16_t reg) { return reg >= 0 && reg < program.num_inputs; };
  const auto is_spread = [&](int16_t reg) {
    return num_elements(graph.type(node.inputs[static_cast<size_t>(reg)]).shape) < num_elements(y.shape);
  };
  const bool has_pairs = std::count_if(y.shape.begin(), y.shape.end(), [](int64_t size) { return size > 1; }) >= 2;
  return has(ops::Fn::kMin) && has(ops::Fn::kMax) && has_pairs &&
         std::any_of(program.instructions.begin(), program.instructions.end(), [&](const ops::Instruction& i) {
           return i.fn == ops::Fn::kSub && is_input(i.a) && is_input(i.b) && is_spread(i.a) == is_spread(i.b);
         });
}

// Layer norms inside gated products, by what they normalise: several may do the same one.
using InnerNorms = std::set<std::pair<ValueId, std::string>>;

void find_inner_norms(const Graph& graph, const Node& node, InnerNorms& norms) {
  using Op = ops::GatedMatMul;
  if (node.op != &gated_mat_mul_op) return;
  const auto find = [&](size_t source, size_t gamma) {
    if (node.inputs[gamma] == kNone) return;
    const Constant* factor = graph.constant(node.inputs[gamma]);
    norms.emplace(node.inputs[source], factor != nullptr ? factor->key : "");
  };
  find(Op::kA, Op::kGamma);
  find(Op::kB, Op::kGateGamma);
}

void add(StructureSums& sums, std::string_view name, int count) {
  if (count > 0) sums[std::string(name)] += count;
}

void count_attention_kinds(const Graph& graph, NodeId id, StructureSums& sums) {
  const AttentionKinds kinds = kinds_of_attention(graph, id);
  add(sums, "attention_weights_out", kinds.has_weights_out);
  add(sums, "biased", kinds.is_biased);
  add(sums, "gated", kinds.num_gates);
  add(sums, "global_query", kinds.has_global_query);
  add(sums, "tied_row_attention", kinds.is_tied);
}

}  // namespace

StructureSums count_structures(const Graph& graph) {
  StructureSums sums;
  for (const std::string& name : graph.noted()) add(sums, name, 1);
  InnerNorms norms;
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    StructureCounts counts;
    if (node.op->structures != nullptr) node.op->structures(node.attrs.get(), counts);
    for (const auto& [name, count] : counts) {
      sums[std::string(name)] += count;
      if (name == "attention") count_attention_kinds(graph, id, sums);
    }
    add(sums, "relative_position", is_relative_position(graph, node));
    add(sums, "swiglu", num_swiglus(node));
    add(sums, "transition", ends_transition(graph, id));
    add(sums, "triangle_multiplication", is_triangle_multiplication(graph, id));
    if (rotates_twice(graph, node) || multiplies_spectra(graph, node)) --sums["rotary"];
    find_inner_norms(graph, node, norms);
  }
  add(sums, "layer_norm", static_cast<int>(norms.size()));
  std::erase_if(sums, [](const auto& sum) { return sum.second == 0; });
  return sums;
}

}  // namespace plica
