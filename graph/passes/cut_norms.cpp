#include <algorithm>

#include "graph/passes/passes.h"
#include "graph/passes/tile_axes.h"
#include "graph/passes/tile_region.h"
#include "graph/passes/tiling.h"
#include "ops/mat_mul.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

int64_t bytes_of(const Graph& graph, ValueId id) { return static_cast<int64_t>(num_bytes(graph.type(id))); }

// Whether a product reads the norm by its rows, and nothing else of it.
bool reads_rows(const Graph& graph, NodeId user, ValueId norm, int64_t axis) {
  const Node& node = graph.node(user);
  if (node.op != &mat_mul_op || std::count(node.inputs.begin(), node.inputs.end(), norm) != 1) return false;
  const auto axes = operand_axes(graph, user, axis);
  return axes && node.inputs[0] == norm && (*axes)[0] == axis && !graph.is_output(node.outputs[0]);
}

// A result more than so many times as wide as its norm: with both and the residual stream, more than five tensors as wide as the
// stream would stand in memory.
constexpr int64_t kMostTimes = 3;

// The norm with the products that read it, along its first axis; nothing where none of them is wide.
TileRegion region_of(const Graph& graph, NodeId id, const Tiling& tiling) {
  TileRegion region;
  const ValueId norm = graph.node(id).outputs[0];
  const Shape& shape = graph.type(norm).shape;
  if (shape.size() < kMinTiledRank || graph.is_output(norm) || graph.type(norm).dtype != DType::kF32) return {};
  const auto axis = std::find_if(shape.begin(), shape.end(), [](int64_t size) { return size > 1; }) - shape.begin();
  if (axis + 2 >= static_cast<int64_t>(shape.size())) return {};
  bool is_wide = false;
  for (NodeId user : graph.value(norm).users) {
    if (!reads_rows(graph, user, norm, axis)) return {};
    const int64_t bytes = bytes_of(graph, graph.node(user).outputs[0]);
    is_wide = is_wide || (bytes > kMostTimes * bytes_of(graph, norm) && tiling.num_tiles(bytes) > 1);
    region.roots.push_back(user);
    region.axis.emplace(user, axis);
  }
  region.axis.emplace(id, axis);
  return is_wide ? region : TileRegion{};
}

}  // namespace

// Beside the wide result of a product (projections of an attention with a gate, hidden values of a transition) only one half of the
// norm that it reads stands in memory at a time.
Result<int> cut_norms(Graph& graph, ConstantStore&) { return cut_norms(graph, Tiling()); }

Result<int> cut_norms(Graph& graph, const Tiling& tiling) {
  int num_edits = 0;
  for (NodeId id : graph.order()) {
    const OpDef* op = graph.node(id).op;
    if (op != &layer_norm_op && op != &rms_norm_op) continue;
    const TileRegion region = region_of(graph, id, tiling);
    if (region.roots.empty()) continue;
    PLICA_CHECK(tile(graph, region, 2));
    ++num_edits;
  }
  return num_edits;
}

}  // namespace plica
