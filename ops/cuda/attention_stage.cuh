#pragma once

#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"

// Tiles that the kernels of Attention bring into shared memory.
namespace plica::cuda::attention {

// Copies 16 bytes into shared memory while the thread goes on: the first `bytes` from `from`, then zeros.
__device__ inline void copy_16_async(void* to, const void* from, int bytes) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
}
__device__ inline void copy_4_async(void* to, const void* from, int bytes) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(from), "r"(bytes) : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// A matrix in memory of which a tile is wanted: element (i, j) at data[i * row + j * step], zero outside rows x columns.
template <class T>
struct Matrix {
  const T* data;
  int64_t row, step;
  int rows, columns;
  bool vectors;  // 16 bytes of a row can be read at once
};

// Brings rows [first_row, first_row + kRows) and columns [first_column, first_column + kColumns) to `tile` (kRows, kStride), by kThreads threads.
// Done for this thread's copies after wait_for_copies, for all after a barrier behind that.
template <int kThreads, int kRows, int kColumns, int kStride, class T>
__device__ __forceinline__ void stage(T* tile, const Matrix<T>& from, int first_row, int first_column, int thread) {
  if (from.vectors) {
    constexpr int kWidth = kVector<T>, kChunks = kColumns / kWidth, kStep = kThreads / kChunks;
    const int row = thread / kChunks, column = thread % kChunks * kWidth;
    const int bytes = max(min(from.columns - first_column - column, kWidth), 0) * static_cast<int>(sizeof(T));
    const T* source = from.data + (first_row + row) * from.row + first_column + column;
#pragma unroll
    for (int i = 0; i < kRows; i += kStep) {
      if (kRows % kStep != 0 && row + i >= kRows) break;
      const bool inside = bytes > 0 && first_row + row + i < from.rows;
      copy_16_async(tile + (row + i) * kStride + column, inside ? source : from.data, inside ? bytes : 0);
      source += kStep * from.row;
    }
    return;
  }
#pragma unroll(sizeof(T) == 4 ? 1 : 4)
  for (int i = thread; i < kRows * kColumns; i += kThreads) {
    const int row = i / kColumns, column = i % kColumns;
    const bool inside = first_row + row < from.rows && first_column + column < from.columns;
    const T* source =
        inside ? from.data + (first_row + row) * from.row + (first_column + column) * from.step : from.data;
    if constexpr (sizeof(T) == 4)
      copy_4_async(tile + row * kStride + column, source, inside ? 4 : 0);
    else
      tile[row * kStride + column] = inside ? *source : T{};
  }
}

}  // namespace plica::cuda::attention
