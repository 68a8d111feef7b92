#pragma once

#include "ops/cuda/tensor_tile.cuh"

namespace plica::cuda {

// As the boxes of 64 columns, but box_columns wide, 64, 32 or 16: rows of so many elements, swizzled as `wgmma` takes these.
CUtensorMap map_strips(const MatrixInMemory& matrix, int box_rows, int box_columns);

}  // namespace plica::cuda
