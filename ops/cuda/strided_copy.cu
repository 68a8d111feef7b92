#include <cstdlib>

#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/cuda/strided_copy.h"

namespace plica::cuda {
namespace {

constexpr int kPerThread = 4;

// A thread moves four elements, a block's width apart; operands of the layout: to, from.
template <class T>
__global__ void __launch_bounds__(kBlock)
    elements(const __grid_constant__ Layout<2> layout, T* __restrict__ to, const T* __restrict__ from) {
  const int64_t base = int64_t{blockIdx.x} * kBlock * kPerThread + threadIdx.x;
  T value[kPerThread];
  int64_t target[kPerThread];
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    const int64_t linear = base + i * kBlock;
    if (linear >= layout.count) continue;
    int64_t at[2];
    layout.offsets(linear, at);
    target[i] = at[0];
    value[i] = from[at[1]];
  }
#pragma unroll
  for (int i = 0; i < kPerThread; ++i)
    if (base + i * kBlock < layout.count) to[target[i]] = value[i];
}

struct TileShape {
  int64_t rows, columns;  // rows: the axis that `from` is contiguous in; columns: the one of `to`
  int64_t row_step;       // of `to`
  int64_t column_step;    // of `from`
  int64_t tiles_down, tiles_across;
};

// A block moves a square tile of kTile x kTile elements through shared memory (its bytes plus a column of padding):
// reads run along rows of `from`, writes along columns. 32 x 8 threads. Layout: the other axes, to and from.
template <class T, int kTile>
__global__ void __launch_bounds__(kBlock)
    transpose(const __grid_constant__ Layout<2> outer, const __grid_constant__ TileShape shape, T* __restrict__ to,
              const T* __restrict__ from) {
  __shared__ T tile[kTile][kTile + 1];
  int64_t block = blockIdx.x;
  const int64_t across = block % shape.tiles_across;
  block /= shape.tiles_across;
  const int64_t down = block % shape.tiles_down;
  int64_t at[2];
  outer.offsets(block / shape.tiles_down, at);
  const int64_t first_row = down * kTile, first_column = across * kTile;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
#pragma unroll
  for (int c = warp; c < kTile; c += kBlock / kWarp)
#pragma unroll
    for (int r = lane; r < kTile; r += kWarp)
      if (first_row + r < shape.rows && first_column + c < shape.columns)
        tile[c][r] = from[at[1] + first_row + r + (first_column + c) * shape.column_step];
  __syncthreads();
#pragma unroll
  for (int r = warp; r < kTile; r += kBlock / kWarp)
#pragma unroll
    for (int c = lane; c < kTile; c += kWarp)
      if (first_row + r < shape.rows && first_column + c < shape.columns)
        to[at[0] + (first_row + r) * shape.row_step + first_column + c] = tile[c][r];
}

// Makes `bytes` the element where the innermost axis, every stride and both addresses allow it.
bool widen_elements(Layout<2>& layout, size_t element_bytes, size_t bytes, const void* to, const void* from) {
  const auto ratio = static_cast<int64_t>(bytes / element_bytes);
  if (layout.rank == 0 || !is_aligned(to, bytes) || !is_aligned(from, bytes)) return false;
  const int last = layout.rank - 1;
  if (layout.stride[0][last] != 1 || layout.stride[1][last] != 1 || layout.size[last] % ratio != 0) return false;
  for (int i = 0; i < last; ++i)
    if (layout.stride[0][i] % ratio != 0 || layout.stride[1][i] % ratio != 0) return false;
  for (int i = 0; i < last; ++i) {
    layout.stride[0][i] /= ratio;
    layout.stride[1][i] /= ratio;
  }
  layout.size[last] /= ratio;
  layout.finish();
  return true;
}

// The axis that `from` is contiguous in where it is not the innermost, long enough to be worth a tile; else -1.
int transposed_axis(const Layout<2>& layout) {
  constexpr int64_t kWorthIt = 8;
  if (layout.rank < 2 || layout.stride[0][layout.rank - 1] != 1 || layout.size[layout.rank - 1] < kWorthIt) return -1;
  for (int i = 0; i + 1 < layout.rank; ++i)
    if (layout.stride[1][i] == 1 && layout.size[i] >= kWorthIt) return i;
  return -1;
}

template <class T>
void launch_transpose(const Layout<2>& layout, int axis, void* to, const void* from, cudaStream_t stream) {
  constexpr int kTile = sizeof(T) <= 4 ? 64 : 32;
  const int last = layout.rank - 1;
  TileShape shape{layout.size[axis], layout.size[last], layout.stride[0][axis], layout.stride[1][last], 0, 0};
  shape.tiles_down = ceil_div(shape.rows, kTile);
  shape.tiles_across = ceil_div(shape.columns, kTile);
  Layout<2> outer;
  for (int i = 0; i < last; ++i) {
    if (i == axis) continue;
    outer.size[outer.rank] = layout.size[i];
    outer.stride[0][outer.rank] = layout.stride[0][i];
    outer.stride[1][outer.rank] = layout.stride[1][i];
    ++outer.rank;
  }
  outer.finish();
  const int64_t blocks = outer.count * shape.tiles_down * shape.tiles_across;
  transpose<T, kTile>
      <<<blocks_for(blocks, 1), kBlock, 0, stream>>>(outer, shape, static_cast<T*>(to), static_cast<const T*>(from));
}

}  // namespace

void strided_copy(size_t element_bytes, std::span<const int64_t> sizes, CopySide to, CopySide from, void* stream) {
  Layout<2> layout = make_layout<2>(sizes, {to.strides, from.strides});
  if (layout.count == 0) return;
  const auto queue = static_cast<cudaStream_t>(stream);
  if (const int axis = transposed_axis(layout); axis >= 0) {
    visit_size(element_bytes, [&](auto tag) {
      launch_transpose<typename decltype(tag)::type>(layout, axis, to.data, from.data, queue);
    });
    return;
  }
  size_t bytes = element_bytes;
  for (size_t wider = 16; wider > element_bytes; wider /= 2) {
    if (!widen_elements(layout, element_bytes, wider, to.data, from.data)) continue;
    bytes = wider;
    break;
  }
  visit_size(bytes, [&](auto tag) {
    using T = typename decltype(tag)::type;
    elements<T><<<blocks_for(layout.count, kBlock * kPerThread), kBlock, 0, queue>>>(layout, static_cast<T*>(to.data),
                                                                                     static_cast<const T*>(from.data));
  });
}

}  // namespace plica::cuda
