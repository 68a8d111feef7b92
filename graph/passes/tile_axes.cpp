#include "graph/passes/tile_axes.h"

#include "ops/attention.h"
#include "ops/pointwise.h"
#include "ops/reshape.h"
#include "ops/slice.h"
#include "ops/transpose.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

using Axes = std::vector<int64_t>;

int64_t rank_of(const Graph& graph, ValueId id) { return static_cast<int64_t>(graph.type(id).shape.size()); }

int64_t size_at(const Graph& graph, ValueId id, int64_t axis) {
  return graph.type(id).shape[static_cast<size_t>(axis)];
}

// Of an operand that broadcasts to a shape of `rank` axes.
int64_t broadcast_axis(const Graph& graph, ValueId operand, int64_t axis, int64_t rank) {
  if (operand == kNone) return kWhole;
  const int64_t own = axis - (rank - rank_of(graph, operand));
  return own < 0 || size_at(graph, operand, own) == 1 ? kWhole : own;
}

std::optional<Axes> of_broadcast(const Graph& graph, const Node& node, int64_t axis) {
  Axes axes;
  const int64_t rank = rank_of(graph, node.outputs[0]);
  for (ValueId input : node.inputs) axes.push_back(broadcast_axis(graph, input, axis, rank));
  return axes;
}

std::optional<Axes> of_product(const Graph& graph, const Node& node, int64_t axis) {
  const int64_t rank = rank_of(graph, node.outputs[0]), row = rank - 2;
  if (axis > row) return std::nullopt;
  auto axes = of_broadcast(graph, node, axis);
  if (axis == row) {
    (*axes)[0] = rank_of(graph, node.inputs[0]) - 2;
    (*axes)[1] = kWhole;
  }
  (*axes)[2] = kWhole;
  return axes;
}

std::optional<Axes> of_attention(const Graph& graph, const Node& node, int64_t axis) {
  const bool has_segments = node.inputs[6] != kNone;
  if (has_segments || axis >= rank_of(graph, node.outputs[0]) - 2) return std::nullopt;
  return of_broadcast(graph, node, axis);
}

std::optional<Axes> of_norm(const Graph& graph, const Node& node, int64_t axis) {
  if (axis == rank_of(graph, node.outputs[0]) - 1) return std::nullopt;
  Axes axes(node.inputs.size(), kWhole);
  axes[0] = axis;
  return axes;
}

std::optional<Axes> of_reshape(const Graph& graph, const Node& node, int64_t axis) {
  const Shape &to = graph.type(node.outputs[0]).shape, &from = graph.type(node.inputs[0]).shape;
  int64_t before = 1, own = 1;
  for (int64_t i = 0; i < axis; ++i) before *= to[static_cast<size_t>(i)];
  for (size_t i = 0; i < from.size() && own <= before; own *= from[i], ++i)
    if (own == before && from[i] == to[static_cast<size_t>(axis)]) return Axes{static_cast<int64_t>(i)};
  return std::nullopt;
}

std::optional<Axes> of_slice(const Graph& graph, const Node& node, int64_t axis) {
  const auto& slice = node.attrs.as<ops::Slice>();
  const auto at = static_cast<size_t>(axis);
  if (slice.steps[at] != 1 || slice.sizes[at] != size_at(graph, node.inputs[0], axis)) return std::nullopt;
  return Axes{axis};
}

}  // namespace

std::optional<std::vector<int64_t>> operand_axes(const Graph& graph, NodeId id, int64_t axis) {
  const Node& node = graph.node(id);
  if (is_pointwise(*node.op) || node.op == &map_op) return of_broadcast(graph, node, axis);
  if (node.op == &mat_mul_op) return of_product(graph, node, axis);
  if (node.op == &attention_op) return of_attention(graph, node, axis);
  if (node.op == &layer_norm_op || node.op == &rms_norm_op) return of_norm(graph, node, axis);
  if (node.op == &transpose_op) return Axes{node.attrs.as<ops::Transpose>().perm[static_cast<size_t>(axis)]};
  if (node.op == &reshape_op) return of_reshape(graph, node, axis);
  if (node.op == &slice_op) return of_slice(graph, node, axis);
  return std::nullopt;
}

Attrs attrs_of_part(const Graph& graph, NodeId id, int64_t axis, int64_t size) {
  const Node& node = graph.node(id);
  const auto at = static_cast<size_t>(axis);
  if (node.op == &reshape_op) {
    ops::Reshape reshape = node.attrs.as<ops::Reshape>();
    reshape.shape[at] = size;
    return reshape;
  }
  if (node.op == &slice_op) {
    ops::Slice slice = node.attrs.as<ops::Slice>();
    slice.sizes[at] = size;
    return slice;
  }
  return node.attrs;
}

}  // namespace plica
