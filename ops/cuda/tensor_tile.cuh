#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include "ops/cuda/async_copy.cuh"
#include "runtime/core/dtype.h"

// Boxes of matrices in memory, brought to shared memory by the device's tensor copies (compute capability 9.0 and later).
namespace plica::cuda {

// A matrix of 16-bit elements: rows of contiguous ones, the first and the distance of rows aligned to 16 bytes.
struct MatrixInMemory {
  const void* data = nullptr;
  DType dtype = DType::kBF16;
  int64_t rows = 0, columns = 0, row_step = 0;
};

// How boxes of box_rows x 64 elements of it are copied: rows of 128 bytes, their units of 16 bytes swizzled as `wgmma` takes
// them, zeros beyond the matrix. A driver that does not take it notes a launch error.
CUtensorMap map_boxes(const MatrixInMemory& matrix, int box_rows);

// So that the first box does not wait for the description.
__device__ inline void fetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// The box from (column, row) on; its bytes count towards the barrier's phase. Addresses in shared memory.
__device__ inline void copy_box(uint32_t to, const CUtensorMap& map, int column, int row, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}
__device__ inline void copy_box(void* to, const CUtensorMap& map, int column, int row, uint64_t* barrier) {
  copy_box(shared_address(to), map, column, row, shared_address(barrier));
}

}  // namespace plica::cuda
