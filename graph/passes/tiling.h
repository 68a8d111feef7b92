#pragma once

#include <algorithm>
#include <cstdint>

#include "graph/graph.h"

namespace plica {

// A hidden value of two tiles or more is made in tiles of at most `tile_bytes`, or `most_tiles` of more: what that saves in memory
// is worth more launches.
struct Tiling {
  int64_t tile_bytes = int64_t{44} << 20;
  int64_t most_tiles = INT64_MAX;
  int64_t least_ratio = 2;  // of its bytes to those of what is made of it

  int64_t num_tiles(int64_t bytes) const {
    return bytes < 2 * tile_bytes ? 1 : std::min(most_tiles, (bytes + tile_bytes - 1) / tile_bytes);
  }
};

// The passes of these names, with tiles of any size.
Result<int> put_channels_first(Graph& graph, const Tiling& tiling);
Result<int> tile_rows(Graph& graph, const Tiling& tiling);

}  // namespace plica
