#include <algorithm>
#include <unordered_map>

#include "graph/passes/passes.h"
#include "graph/passes/tile_axes.h"
#include "graph/passes/tile_region.h"
#include "graph/passes/tiling.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

constexpr int64_t kSmall = 8;  // what has so many times fewer bytes than the result is kept whole

int64_t bytes_of(const Graph& graph, ValueId id) { return static_cast<int64_t>(num_bytes(graph.type(id))); }

// A region of one root, found from it backwards.
struct Region {
  TileRegion tiled;
  int64_t widest_bytes = 0;  // of what they make before the root
};

// The axis along which all readers in the region cut the value; kWhole where it must not be of the region.
int64_t common_axis(const Graph& graph, const Region& region, ValueId value) {
  int64_t axis = kWhole;
  for (NodeId user : graph.value(value).users) {
    const auto found = region.tiled.axis.find(user);
    if (found == region.tiled.axis.end()) return kWhole;
    const auto axes = operand_axes(graph, user, found->second);
    for (size_t i = 0; i < axes->size(); ++i) {
      if (graph.node(user).inputs[i] != value) continue;
      if ((*axes)[i] == kWhole || (axis != kWhole && axis != (*axes)[i])) return kWhole;
      axis = (*axes)[i];
    }
  }
  return axis;
}

// Several steps read it: it stays, as the residual stream does. Views of it are no steps.
bool is_shared(const Graph& graph, ValueId value) {
  const auto& users = graph.value(value).users;
  return users.size() > 1 &&
         !std::all_of(users.begin(), users.end(), [&](NodeId user) { return graph.node(user).op->is_view; });
}

Region region_of(const Graph& graph, const std::vector<NodeId>& order, size_t root, int64_t axis) {
  Region region;
  const NodeId root_id = order[root];
  if (!operand_axes(graph, root_id, axis)) return region;
  region.tiled.roots.push_back(root_id);
  region.tiled.axis.emplace(root_id, axis);
  const int64_t bytes = bytes_of(graph, graph.node(root_id).outputs[0]);
  for (size_t i = root; i-- > 0;) {
    const Node& node = graph.node(order[i]);
    if (node.op == nullptr) continue;
    const ValueId value = node.outputs[0];
    const bool small = !node.op->is_view && bytes_of(graph, value) * kSmall <= bytes;
    if (node.outputs.size() != 1 || small || graph.is_output(value) || is_shared(graph, value)) continue;
    const int64_t own = common_axis(graph, region, value);
    if (own == kWhole || !operand_axes(graph, order[i], own)) continue;
    region.tiled.axis.emplace(order[i], own);
    if (!node.op->is_view) region.widest_bytes = std::max(region.widest_bytes, bytes_of(graph, value));
  }
  return region;
}

// The first axis of the root along which what is wide is computed in tiles, and how many they are.
std::optional<std::pair<Region, int64_t>> find_region(const Graph& graph, const std::vector<NodeId>& order, size_t root,
                                                      const Tiling& tiling) {
  const Node& node = graph.node(order[root]);
  const TensorType& type = graph.type(node.outputs[0]);
  if (node.op->is_view || type.shape.size() < kMinTiledRank) return std::nullopt;
  for (size_t axis = 0; axis + 1 < type.shape.size(); ++axis) {
    if (type.shape[axis] < 2) continue;
    Region region = region_of(graph, order, root, static_cast<int64_t>(axis));
    const bool narrows = 2 * bytes_of(graph, node.outputs[0]) <= region.widest_bytes;
    const int64_t tiles = std::min(tiling.num_tiles(region.widest_bytes), type.shape[axis]);
    if (narrows && tiles > 1) return std::pair(std::move(region), tiles);
  }
  return std::nullopt;
}

bool has_wide_value(const Graph& graph, const std::vector<NodeId>& order, const Tiling& tiling) {
  return std::any_of(order.begin(), order.end(), [&](NodeId id) {
    const ValueId value = graph.node(id).outputs[0];
    return graph.type(value).shape.size() >= kMinTiledRank && tiling.num_tiles(bytes_of(graph, value)) > 1;
  });
}

}  // namespace

// Rows of a pair or alignment representation whose hidden values are wide (projections of an attention, a transition) are
// computed tile by tile: no wide value exists as a whole, and a tile's stays in the cache.
Result<int> tile_rows(Graph& graph, ConstantStore&) { return tile_rows(graph, Tiling()); }

Result<int> tile_rows(Graph& graph, const Tiling& tiling) {
  const std::vector<NodeId> order = graph.order();
  if (!has_wide_value(graph, order, tiling)) return 0;
  int num_edits = 0;  // nodes that an edit before has removed have no operator
  for (size_t i = order.size(); i-- > 0;) {
    if (graph.node(order[i]).op == nullptr) continue;
    const auto found = find_region(graph, order, i, tiling);
    if (!found) continue;
    PLICA_CHECK(tile(graph, found->first.tiled, found->second));
    ++num_edits;
  }
  return num_edits;
}

}  // namespace plica
