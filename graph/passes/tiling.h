#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace plica {

// A hidden value of two tiles or more is made in tiles of at most `tile_bytes`: what that saves in memory is worth more
// launches, and a tile stays in a device's cache.
struct Tiling {
  int64_t tile_bytes = int64_t{44} << 20;

  int64_t num_tiles(int64_t bytes) const {
    return bytes < 2 * tile_bytes ? 1 : (bytes + tile_bytes - 1) / tile_bytes;
  }
};

// The passes of these names, with tiles of any size.
Result<int> cut_norms(Graph& graph, const Tiling& tiling);
Result<int> put_channels_first(Graph& graph, const Tiling& tiling);
Result<int> tile_rows(Graph& graph, const Tiling& tiling);

}  // namespace plica
