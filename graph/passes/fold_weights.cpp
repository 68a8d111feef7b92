#include <algorithm>

#include "graph/passes/passes.h"
#include "graph/patch.h"
#include "ops/evaluate.h"
#include "ops/reshape.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

// Evaluates expressions of constants, each once for all plans of a model.
class Folder {
 public:
  Folder(const Graph& graph, ConstantStore& constants)
      : graph_(graph), constants_(constants), known_(graph.num_nodes()) {
    for (NodeId id : graph.order()) known_[static_cast<size_t>(id)] = hangs_on_constants(graph.node(id));
  }

  // Whether the node is the last of an expression of constants: somebody else needs its results.
  bool is_result(NodeId id) const {
    if (!known_[static_cast<size_t>(id)]) return false;
    const auto& outputs = graph_.node(id).outputs;
    return std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
      const auto& users = graph_.value(output).users;
      return graph_.is_output(output) ||
             std::any_of(users.begin(), users.end(), [&](NodeId user) { return !known_[static_cast<size_t>(user)]; });
    });
  }

  Result<ConstantPtr> fold(ValueId id) {
    if (graph_.constant(id) != nullptr) return graph_.value(id).constant;
    if (num_bytes(graph_.type(id)) > kMostGrowth * weight_bytes(id)) return evaluate_value(id);
    return constants_.get(key(id), [&] { return evaluate_value(id); });
  }

 private:
  bool hangs_on_constants(const Node& node) const {
    return !node.inputs.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      if (input == kNone || graph_.constant(input) != nullptr) return true;
      const NodeId producer = graph_.value(input).producer;
      return producer != kNone && known_[static_cast<size_t>(producer)];
    });
  }

  // Of the file's weights in the expression. What is much larger is made of sizes, as a table of positions is: it lives
  // with the plan, not with the model.
  size_t weight_bytes(ValueId id) const {
    const Value& value = graph_.value(id);
    if (value.constant != nullptr) return value.constant->key.starts_with('c') ? 0 : num_bytes(value.type);
    size_t bytes = 0;
    for (ValueId input : graph_.node(value.producer).inputs)
      if (input != kNone) bytes += weight_bytes(input);
    return bytes;
  }
  static constexpr size_t kMostGrowth = 4;

  // "Concat{axis=1}(w3,w4)", behind the output's number where it is not the first.
  std::string key(ValueId id) const {
    if (graph_.constant(id) != nullptr) return graph_.constant(id)->key;
    const Value& value = graph_.value(id);
    const Node& node = graph_.node(value.producer);
    std::string text = value.output_idx == 0 ? "" : std::to_string(value.output_idx) + ":";
    text.append(node.op->name).append(to_string(node.attrs)).append("(");
    for (size_t i = 0; i < node.inputs.size(); ++i)
      text.append(i ? "," : "").append(node.inputs[i] == kNone ? "_" : key(node.inputs[i]));
    return text.append(")");
  }

  // Not through the store: the values in between are nobody's.
  Result<ConstantPtr> evaluate_value(ValueId id) {
    const Value& value = graph_.value(id);
    if (value.constant != nullptr) return value.constant;
    const Node& node = graph_.node(value.producer);
    std::vector<ConstantPtr> operands;
    std::vector<TensorView> views;
    for (ValueId input : node.inputs) {
      ConstantPtr operand;
      if (input != kNone) {
        PLICA_TRY(operand, evaluate_value(input));
      }
      views.push_back(operand == nullptr ? TensorView{} : TensorView{operand->type, const_cast<void*>(operand->data)});
      operands.push_back(std::move(operand));
    }
    if (node.op == &reshape_op && is_dense(operands[0]->type)) return reshaped(operands[0], value.type, key(id));
    PLICA_TRY(std::vector<Tensor> results,
              evaluate(*node.op, node.attrs, views).context("computing '" + node.name + "' of constants"));
    return make_constant(std::move(results[static_cast<size_t>(value.output_idx)]), key(id));
  }

  // The same memory under another shape.
  static ConstantPtr reshaped(const ConstantPtr& constant, const TensorType& type, std::string key) {
    return std::make_shared<const Constant>(Constant{type, constant->data, constant, std::move(key)});
  }

  const Graph& graph_;
  ConstantStore& constants_;
  std::vector<bool> known_;  // nodes all of whose operands hang on constants
};

}  // namespace

// Expressions of constants become constants, kept in the model's table: a plan for another shape only looks up.
Result<int> fold_weights(Graph& graph, ConstantStore& constants) {
  Folder folder(graph, constants);
  std::vector<std::pair<ValueId, ConstantPtr>> folded;
  for (NodeId id : graph.order()) {
    if (!folder.is_result(id)) continue;
    for (ValueId output : graph.node(id).outputs) {
      if (graph.value(output).users.empty() && !graph.is_output(output)) continue;
      PLICA_TRY(ConstantPtr constant, folder.fold(output));
      folded.emplace_back(output, std::move(constant));
    }
  }
  for (auto& [value, constant] : folded) {
    Patch patch(graph);
    patch.replace(value, patch.add_constant(std::move(constant)));
    PLICA_CHECK(patch.apply());
  }
  return static_cast<int>(folded.size());
}

}  // namespace plica
