#include "graph/passes/attention_paths.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "ops/pointwise.h"
#include "ops/transpose.h"

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

// Where the axis of `from` stands behind a Reshape; -1 where it is split or merged.
int64_t axis_behind_reshape(const Shape& from, const Shape& to, int64_t axis) {
  const auto inside = [](const Shape& shape, size_t at) {
    return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(at) + 1, shape.end(), int64_t{1},
                           std::multiplies<>());
  };
  const auto own = static_cast<size_t>(axis);
  for (size_t i = to.size(); i-- > 0;)
    if (to[i] == from[own] && inside(to, i) == inside(from, own)) return static_cast<int64_t>(i);
  return -1;
}

// Where the axis of what `reader` reads stands in its result; -1 where it is none that scores go through.
int64_t axis_behind(const Graph& graph, const Node& reader, ValueId at, int64_t axis) {
  if (reader.op == &transpose_op) {
    const auto& perm = reader.attrs.as<ops::Transpose>().perm;
    return std::find(perm.begin(), perm.end(), axis) - perm.begin();
  }
  const Shape &from = graph.type(at).shape, &to = graph.type(reader.outputs[0]).shape;
  if (reader.op == &reshape_op) return axis_behind_reshape(from, to, axis);
  const bool passes = is(reader, ops::Fn::kMul) || is(reader, ops::Fn::kDiv) || is(reader, ops::Fn::kAdd) ||
                      is(reader, ops::Fn::kTanh) || is(reader, ops::Fn::kCast) ||
                      (is(reader, ops::Fn::kSub) && reader.inputs[0] == at) ||
                      (is(reader, ops::Fn::kWhere) && reader.inputs[0] != at);
  return passes && from == to ? axis : -1;
}

// Whether a product sums over the axis of `weights`.
bool weighs_values(const Graph& graph, ValueId weights, int64_t axis, int steps = kMaxSteps) {
  const ValueId at = behind_guard(graph, weights);
  const auto& users = graph.value(at).users;
  const auto from_end = static_cast<int64_t>(graph.type(at).shape.size()) - axis;
  return steps > 0 && axis >= 0 && std::any_of(users.begin(), users.end(), [&](NodeId user) {
           const Node& reader = graph.node(user);
           if (reader.op == &mat_mul_op) return reader.inputs[from_end == 1 ? 0 : 1] == at && from_end <= 2;
           return weighs_values(graph, reader.outputs[0], axis_behind(graph, reader, at, axis), steps - 1);
         });
}

}  // namespace

int softmax_axis(const Graph& graph, ValueId scores) {
  const auto rank = static_cast<int64_t>(graph.type(scores).shape.size());
  for (const int candidate : {-1, -2}) {
    ValueId at = scores;
    int64_t axis = rank + candidate;
    for (int step = 0; step < kMaxSteps && axis >= 0; ++step) {
      const Node* reader = only_reader(graph, at);
      if (reader == nullptr) break;
      if (reader->op == &softmax_op) {
        const bool is_last = axis + 1 == static_cast<int64_t>(graph.type(at).shape.size());
        if (is_last && weighs_values(graph, reader->outputs[0], axis)) return candidate;
        break;
      }
      axis = is(*reader, ops::Fn::kCast) ? -1 : axis_behind(graph, *reader, at, axis);
      at = reader->outputs[0];
    }
  }
  return 0;
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
