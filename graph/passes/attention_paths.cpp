#include "graph/passes/attention_paths.h"

#include <algorithm>

#include "ops/pointwise.h"

namespace plica {
namespace {

constexpr int kMaxSteps = 12;

bool is(const Node& node, ops::Fn fn) { return node.op == &pointwise_op(fn); }

// The one node that reads `x`, or null: there are several, or it is an output of the graph.
const Node* only_reader(const Graph& graph, ValueId x) {
  const auto& users = graph.value(x).users;
  if (users.size() != 1 || graph.is_output(x)) return nullptr;
  return &graph.node(users[0]);
}

// The value behind Where(IsNaN(w), 0, w) where that is all that reads w; else w.
ValueId behind_guard(const Graph& graph, ValueId w) {
  const auto& users = graph.value(w).users;
  if (users.size() != 2 || graph.is_output(w)) return w;
  const bool first = is(graph.node(users[0]), ops::Fn::kIsNaN);
  const Node &test = graph.node(users[first ? 0 : 1]), &where = graph.node(users[first ? 1 : 0]);
  if (!is(test, ops::Fn::kIsNaN) || !is(where, ops::Fn::kWhere) || where.inputs[0] != test.outputs[0]) return w;
  return where.outputs[0];
}

bool weighs_values(const Graph& graph, ValueId weights) {
  ValueId at = behind_guard(graph, weights);
  for (int step = 0; step < kMaxSteps; ++step) {
    const Node* reader = only_reader(graph, at);
    if (reader == nullptr) return false;
    if (reader->op == &mat_mul_op) return reader->inputs[0] == at;
    const bool passes = reader->op == &reshape_op || reader->op == &transpose_op || is(*reader, ops::Fn::kCast);
    if (!passes) return false;
    at = behind_guard(graph, reader->outputs[0]);
  }
  return false;
}

}  // namespace

bool feeds_softmax(const Graph& graph, ValueId scores) {
  ValueId at = scores;
  for (int step = 0; step < kMaxSteps; ++step) {
    const Node* reader = only_reader(graph, at);
    if (reader == nullptr) return false;
    if (reader->op == &softmax_op) return weighs_values(graph, reader->outputs[0]);
    const bool passes = is(*reader, ops::Fn::kMul) || is(*reader, ops::Fn::kDiv) || is(*reader, ops::Fn::kAdd) ||
                        (is(*reader, ops::Fn::kWhere) && reader->inputs[0] != at) || reader->op == &reshape_op;
    if (!passes) return false;
    at = reader->outputs[0];
  }
  return false;
}

bool feeds_scores(const Graph& graph, ValueId x) {
  for (int step = 0; step < kMaxSteps; ++step) {
    const Node* reader = only_reader(graph, x);
    if (reader == nullptr) return false;
    if (reader->op == &scores_op) return true;
    if (!reader->op->is_view && !is(*reader, ops::Fn::kMul) && reader->op != &rotary_op) return false;
    x = reader->outputs[0];
  }
  return false;
}

bool feeds_product(const Graph& graph, ValueId x) {
  const Node* reader = only_reader(graph, x);
  while (reader != nullptr && reader->op->is_view) reader = only_reader(graph, reader->outputs[0]);
  return reader != nullptr && is(*reader, ops::Fn::kMul);
}

}  // namespace plica
