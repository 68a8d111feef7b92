#include <algorithm>
#include <unordered_map>

#include "graph/passes/passes.h"
#include "graph/patch.h"
#include "ops/evaluate.h"
#include "ops/reshape.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

// An expression of constants, by itself: it outlives the graph.
struct Expression {
  ConstantPtr constant;  // where it is one; of what follows only the type is set
  const OpDef* op = nullptr;
  Attrs attrs;
  std::vector<std::shared_ptr<const Expression>> operands;  // null where absent
  int output_idx = 0;
  TensorType type;
  size_t weight_bytes = 0;  // of the file's weights in it
  int num_uses = 0;         // by other expressions
  std::string name;         // of the node, for messages
};

// "Concat{axis=1}(w3,w4)", behind the output's number where it is not the first.
std::string key_of(const Expression& expression) {
  if (expression.constant != nullptr) return expression.constant->key;
  std::string text = expression.output_idx == 0 ? "" : std::to_string(expression.output_idx) + ":";
  text.append(expression.op->name).append(to_string(expression.attrs)).append("(");
  for (size_t i = 0; i < expression.operands.size(); ++i)
    text.append(i ? "," : "").append(expression.operands[i] == nullptr ? "_" : key_of(*expression.operands[i]));
  return text.append(")");
}

// Whether it is the memory of a constant, under another shape at most.
bool is_in_place(const Expression& expression) {
  return expression.constant != nullptr || (expression.op == &reshape_op && is_in_place(*expression.operands[0]));
}

// Computes an expression, each part of it once. Not through the store: the values in between are nobody's.
class Evaluation {
 public:
  Result<ConstantPtr> value_of(const Expression& expression) {
    if (const ConstantPtr& constant = expression.constant)
      return constant->make != nullptr ? constant->make() : Result<ConstantPtr>(constant);
    if (const auto known = made_.find(&expression); known != made_.end()) return known->second;
    std::vector<ConstantPtr> operands;
    std::vector<TensorView> views;
    for (const auto& input : expression.operands) {
      ConstantPtr operand;
      if (input != nullptr) {
        PLICA_TRY(operand, value_of(*input));
      }
      views.push_back(operand == nullptr ? TensorView{} : TensorView{operand->type, const_cast<void*>(operand->data)});
      operands.push_back(std::move(operand));
    }
    PLICA_TRY(ConstantPtr value, applied(expression, operands[0], views));
    if (expression.num_uses > 1) made_[&expression] = value;
    return value;
  }

 private:
  static Result<ConstantPtr> applied(const Expression& expression, const ConstantPtr& first,
                                     std::span<const TensorView> views) {
    if (expression.op == &reshape_op && is_dense(first->type))  // the same memory under another shape
      return std::make_shared<const Constant>(Constant{expression.type, first->data, first, {}});
    PLICA_TRY(
        std::vector<Tensor> results,
        compute(*expression.op, expression.attrs, views).context("computing '" + expression.name + "' of constants"));
    return make_constant(std::move(results[static_cast<size_t>(expression.output_idx)]), {});
  }

  std::unordered_map<const Expression*, ConstantPtr> made_;
};

Result<ConstantPtr> value_of(const Expression& expression, const std::string& key) {
  PLICA_TRY(const ConstantPtr value, Evaluation().value_of(expression));
  return std::make_shared<const Constant>(Constant{value->type, value->data, value, key});
}

// Evaluates expressions of constants, each once for all plans of a model.
class Folder {
 public:
  Folder(const Graph& graph, ConstantStore& constants)
      : graph_(graph), constants_(constants), known_(graph.num_nodes()), expressions_(graph.num_values()) {
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
    const auto expression = expression_of(id);
    const size_t bytes = num_bytes(expression->type);
    std::string key = key_of(*expression);
    if (bytes > kMostGrowth * expression->weight_bytes) return value_of(*expression, key);
    return constants_.get(key, [&]() -> Result<ConstantPtr> {
      if (bytes < kDeferredBytes || is_in_place(*expression)) return value_of(*expression, key);
      Constant deferred{expression->type, nullptr, nullptr, key, [=] { return value_of(*expression, key); }};
      return std::make_shared<const Constant>(std::move(deferred));
    });
  }

 private:
  bool hangs_on_constants(const Node& node) const {
    return !node.inputs.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      if (input == kNone || graph_.constant(input) != nullptr) return true;
      const NodeId producer = graph_.value(input).producer;
      return producer != kNone && known_[static_cast<size_t>(producer)];
    });
  }

  // What is much larger than its weights is made of sizes, as a table of positions is: it lives with the plan, not with the model.
  static constexpr size_t kMostGrowth = 4;

  // From this size on a value is made when somebody reads it: a kernel that packs it needs no second copy. No pass looks into it.
  static constexpr size_t kDeferredBytes = size_t{256} << 10;

  std::shared_ptr<Expression> expression_of(ValueId id) {
    std::shared_ptr<Expression>& known = expressions_[static_cast<size_t>(id)];
    if (known != nullptr) return known;
    const Value& value = graph_.value(id);
    auto expression = std::make_shared<Expression>();
    expression->type = value.type;
    expression->constant = value.constant;
    if (value.constant != nullptr) {
      if (!value.constant->key.starts_with('c')) expression->weight_bytes = num_bytes(value.type);
      return known = std::move(expression);
    }
    const Node& node = graph_.node(value.producer);
    expression->op = node.op;
    expression->attrs = node.attrs;
    expression->output_idx = value.output_idx;
    expression->name = node.name;
    for (ValueId input : node.inputs) {
      const std::shared_ptr<Expression> operand = input == kNone ? nullptr : expression_of(input);
      if (operand != nullptr) {
        expression->weight_bytes += operand->weight_bytes;
        ++operand->num_uses;
      }
      expression->operands.push_back(operand);
    }
    return known = std::move(expression);
  }

  const Graph& graph_;
  ConstantStore& constants_;
  std::vector<bool> known_;                               // nodes all of whose operands hang on constants
  std::vector<std::shared_ptr<Expression>> expressions_;  // by ValueId, where asked for
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
