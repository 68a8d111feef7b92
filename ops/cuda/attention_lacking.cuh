#pragma once

#include "ops/cuda/attention_shape.cuh"
#include "ops/cuda/element.cuh"

// Queries that see only some keys of a tile give the others the weight zero, and zero times a value that is not finite is NaN. So such
// values leave a tile of which a query does not see all, and are added to the results of the queries that see them.
namespace plica::cuda::attention {

// The keys that all queries of a block see.
struct SeenByAll {
  int begin, end;

  // Whether a tile from first_key on has others.
  __device__ bool lacks(int first_key, int num, int keys) const {
    return first_key < begin || min(first_key + num, keys) > end;
  }
};

// Puts zeros for what is not finite in a tile (kRows, kStride) of kColumns columns; whether this thread found any. For all
// kThreads threads of a block.
template <int kThreads, int kRows, int kColumns, int kStride, class T>
__device__ __forceinline__ bool drop_infinite(T* tile) {
  bool found = false;
#pragma unroll 1
  for (int i = threadIdx.x; i < kRows * kColumns; i += kThreads) {
    T& value = tile[i / kColumns * kStride + i % kColumns];
    if (isfinite(widen(value))) continue;
    value = T{};
    found = true;
  }
  return found;
}

// A head's values, as they are in memory.
template <class T>
struct Values {
  const T* data;
  int64_t row, step;
  int columns;

  // A value that is not finite; else zero.
  __device__ float infinite(int key, int column) const {
    const float value = column < columns ? widen(data[key * row + column * step]) : 0.0f;
    return isfinite(value) ? 0.0f : value;
  }
};

}  // namespace plica::cuda::attention
