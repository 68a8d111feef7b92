#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "ops/op.h"

namespace plica {

constexpr size_t kMinTiledRank = 4;  // maps of pairs, alignments: what stands in front is many rows

// What is computed tile by tile, each node with the axis of its result that is cut. Nobody else reads what its inner nodes make.
struct TileRegion {
  std::vector<NodeId> roots;                 // whose results are put together of tiles
  std::unordered_map<NodeId, int64_t> axis;  // roots and inner nodes
};

// Computes the results of the roots in that many tiles, one tile of all roots after the other.
Status tile(Graph& graph, const TileRegion& region, int64_t num_tiles);

}  // namespace plica
