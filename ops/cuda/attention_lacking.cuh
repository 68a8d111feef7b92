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
  __device__ Wide<T> infinite(int key, int column) const {
    const Wide<T> value = column < columns ? widen(data[key * row + column * step]) : Wide<T>{0};
    return isfinite(value) ? Wide<T>{0} : value;
  }

  // Whether weights of zero for these keys give NaN.
  __device__ bool spoil(int64_t begin, int64_t end, int column) const {
    bool found = false;
#pragma unroll 1
    for (auto key = static_cast<int>(begin); key < end; ++key) found |= infinite(key, column) != 0;
    return found;
  }
};

// Rows [begin, end) of a head, some of which were written as zeros because weights of zero take the place of NaN: NaN where a value that such a
// row sees is not finite. A result that is zero sees no such value unless its weights are those. For `threads` threads, whole warps that
// have written the rows. For the end of a kernel, where its code is in no other's way.
template <class T>
__device__ __forceinline__ void spoil_zeros(const Shape& shape, const Pointers& p, const int64_t* at, int64_t begin,
                                            int64_t end, int thread, int threads) {
  const Values<T> values{static_cast<const T*>(p.v) + at[kV], shape.row[kV], shape.step[kV],
                         static_cast<int>(shape.value_width)};
  __syncwarp();
#pragma unroll 1
  for (int64_t row = begin; row < min(end, shape.rows); ++row) {
    const Range keys = visible(shape, p, row);
#pragma unroll 1
    for (int column = thread; column < values.columns; column += threads) {
      T& y = static_cast<T*>(p.y)[at[kY] + row * shape.row[kY] + column * shape.step[kY]];
      if (widen(y) == 0 && values.spoil(keys.begin, keys.end, column)) y = narrow<T>(Wide<T>(NAN));
    }
  }
}

}  // namespace plica::cuda::attention
