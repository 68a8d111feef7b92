#pragma once

#include <cuda.h>

#include <algorithm>

#include "ops/cuda/gated_product_tiles.cuh"
#include "ops/cuda/tensor_tile.cuh"
#include "runtime/device/cuda_driver.h"

namespace plica::cuda::gated {

// What the device knows of y and, with boxes, of all that is brought: boxes of 64 lines of 128 bytes, or of all channels.
struct Maps {
  CUtensorMap y, a, b, value, gate;
};

// 64 rows of a matrix (rows, depth), as products read them.
template <class C>
__device__ void bring_lines(uint32_t to, const CUtensorMap& map, int row, uint32_t barrier, uint32_t slab_bytes) {
#pragma unroll
  for (int slab = 0; slab < C::kProducts / 4; ++slab)
    copy_box(to + slab * slab_bytes, map, slab * (kLine / sizeof(typename C::T)), row, barrier);
}

// The weights of chunks [first, last) of those from `first_column` on; by one thread.
template <class C>
__device__ void bring_chunks(const Maps& maps, const Places& at, int first_column, int first, int last) {
  for (int chunk = first; chunk < last; ++chunk) {
    const uint32_t ready = at.chunks_ready + chunk * 8, to = at.weights + chunk * C::kChunkBytes;
    const int column = first_column + chunk * kChunk;
    arrive_expecting(&shared_at<uint64_t>(ready), C::kChunkBytes);
    bring_lines<C>(to, maps.value, column, ready, C::kSlabBytes);
    bring_lines<C>(to + kChunk * kLine, maps.gate, column, ready, C::kSlabBytes);
  }
}

struct Lines {
  const void* data = nullptr;
  int64_t size = 0, count = 0, step = 0;  // elements of a line; lines; from one to the next
};

// Describes lines to the device, in boxes of 128 bytes of `box_lines`; false where it does not take them.
template <class T>
bool describe_lines(const CudaDriver& driver, const Lines& lines, int box_lines, CUtensorMap& map) {
  constexpr CUtensorMapDataType kType =
      std::is_same_v<T, BF16> ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(lines.size), static_cast<cuuint64_t>(lines.count)};
  const cuuint64_t steps[] = {static_cast<cuuint64_t>(std::max(lines.step, lines.size)) * sizeof(T)};
  const cuuint32_t box[] = {kLine / sizeof(T), static_cast<cuuint32_t>(box_lines)}, every[] = {1, 1};
  return driver.encode_tiled(&map, kType, 2, const_cast<void*>(lines.data), sizes, steps, box, every,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

// Describes sources and weights.
template <class C>
bool describe_boxes(const GatedProduct& p, Maps& maps) {
  using T = typename C::T;
  const auto driver = cuda_driver();
  if (!driver) return false;
  const auto describe = [&](const void* data, int64_t rows, int64_t step, CUtensorMap& map) {
    return describe_lines<T>(**driver, {data, p.depth, rows, step}, kUnitRows, map);
  };
  const bool has_a = C::kFirst ? describe_lines<T>(**driver, {p.a, p.rows, p.depth, p.a_step}, C::kDepth, maps.a)
                               : describe(p.a, p.rows, p.a_step, maps.a);
  return has_a && (!C::kTwo || describe(p.b, p.rows, p.b_step, maps.b)) &&
         describe(p.value, p.columns, p.value_step, maps.value) && describe(p.gate, p.columns, p.gate_step, maps.gate);
}

}  // namespace plica::cuda::gated
