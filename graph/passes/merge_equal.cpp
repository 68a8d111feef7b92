#include <algorithm>
#include <string>
#include <unordered_map>

#include "graph/passes/passes.h"
#include "graph/scalar.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

// The value that stands for all equal ones: itself, the first constant with its key, or, of single numbers, the first that is
// the same one.
class Numbering {
 public:
  explicit Numbering(const Graph& graph) : graph_(graph) {}

  ValueId operator()(ValueId id) {
    const Constant* constant = graph_.constant(id);
    if (constant == nullptr) return id;
    const bool is_number = num_elements(constant->type.shape) == 1 && is_dense_constant(*constant);
    if (!is_number && constant->key.empty()) return id;
    std::string key = is_number ? to_string(constant->type) + " = " + element_text(*constant, 0) : constant->key;
    return by_key_.emplace(std::move(key), id).first->second;
  }

 private:
  const Graph& graph_;
  std::unordered_map<std::string, ValueId> by_key_;
};

size_t hash_of(const Node& node, const std::vector<ValueId>& inputs) {
  size_t hash = std::hash<const void*>{}(node.op);
  for (ValueId input : inputs) hash = (hash ^ static_cast<size_t>(input + 1)) * 0x9e3779b97f4a7c15u;
  return hash;
}

}  // namespace

// Nodes of one operator with equal attributes and equal operands become one.
Result<int> merge_equal(Graph& graph, ConstantStore&) {
  int num_edits = 0;
  Numbering number(graph);
  std::unordered_multimap<size_t, NodeId> seen;
  std::unordered_map<NodeId, std::vector<ValueId>> operands;
  for (NodeId id : graph.order()) {
    std::vector<ValueId> inputs = graph.node(id).inputs;
    for (ValueId& input : inputs) input = input == kNone ? kNone : number(input);
    if (graph.node(id).op->commutative && inputs.size() == 2 && inputs[0] > inputs[1]) std::swap(inputs[0], inputs[1]);
    const size_t hash = hash_of(graph.node(id), inputs);
    const auto [first, last] = seen.equal_range(hash);
    const auto equal = std::find_if(first, last, [&](const auto& entry) {
      const Node &a = graph.node(entry.second), &b = graph.node(id);
      return a.op == b.op && operands[entry.second] == inputs && a.attrs == b.attrs;
    });
    if (equal == last) {
      seen.emplace(hash, id);
      operands.emplace(id, std::move(inputs));
      continue;
    }
    for (size_t i = 0; i < graph.node(id).outputs.size(); ++i)
      graph.replace_uses(graph.node(id).outputs[i], graph.node(equal->second).outputs[i]);
    graph.remove_if_dead(id);
    ++num_edits;
  }
  return num_edits;
}

}  // namespace plica
