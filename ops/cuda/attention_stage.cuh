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

// A matrix in memory of which tiles are wanted: element (i, j) at data[i * row + j * step], zero outside rows x columns.
template <class T>
struct Matrix {
  const T* data;
  int64_t row, step;
  int rows, columns;
  bool vectors;  // 16 bytes of a row can be read at once
};

// Brings tiles (kRows, kStride) of kColumns columns to shared memory by kThreads threads, the first of a
// block or as many others side by side: what a thread's part of them is.
template <class T, int kThreads, int kRows, int kColumns, int kStride>
class Stager {
 public:
  __device__ Stager(int64_t row_stride, int columns)
      : bytes_(max(min(columns - column(), kWidth), 0) * static_cast<int>(sizeof(T))),
        from_(row() * row_stride + column()) {}

  // Rows from first_row and columns from first_column on, of which the constructor's are there. Done for this thread's copies after
  // wait_for_copies, for all after a barrier behind that.
  __device__ __forceinline__ void bring(T* tile, const Matrix<T>& from, int first_row) const {
    if (from.vectors)
      bring_vectors(tile, from.data + first_row * from.row + from_, kStep * from.row, from.rows - first_row, bytes_);
    else
      bring_elements(tile, from, first_row, 0);
  }
  __device__ __forceinline__ void bring(T* tile, const Matrix<T>& from, int first_row, int first_column) const {
    if (from.vectors)
      bring_vectors(tile, from.data + first_row * from.row + first_column + from_, kStep * from.row,
                    from.rows - first_row,
                    max(min(from.columns - first_column - column(), kWidth), 0) * static_cast<int>(sizeof(T)));
    else
      bring_elements(tile, from, first_row, first_column);
  }

 private:
  static constexpr int kWidth = kVector<T>, kChunks = kColumns / kWidth, kStep = kThreads / kChunks;

  __device__ static int row() { return threadIdx.x % kThreads / kChunks; }
  __device__ static int column() { return threadIdx.x % kChunks * kWidth; }

  __device__ __forceinline__ static void bring_vectors(T* tile, const T* source, int64_t step, int rows, int bytes) {
    T* to = tile + row() * kStride + column();
#pragma unroll
    for (int i = 0; i < kRows; i += kStep) {
      if (kRows % kStep != 0 && row() + i >= kRows) break;
      copy_16_async(to + i * kStride, source, row() + i < rows ? bytes : 0);
      source += step;
    }
  }
  __device__ __forceinline__ static void bring_elements(T* tile, const Matrix<T>& from, int first_row,
                                                        int first_column) {
#pragma unroll(sizeof(T) == 4 ? 1 : 4)
    for (int i = threadIdx.x % kThreads; i < kRows * kColumns; i += kThreads) {
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

  int bytes_;  // of this thread's 16 that are inside the columns
  int64_t from_;
};

}  // namespace plica::cuda::attention
