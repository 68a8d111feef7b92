#pragma once

#include <cstddef>
#include <type_traits>

#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/outer_product.h"

// How an outer product's operands are laid out for the matrix units: tiles in the order in which they are read, each as it
// stands in shared memory.
namespace plica::cuda::tiles {

// A block makes 64 rows i and 4 columns j of pairs; two warpgroups take two columns each. Both products run along K in
// slabs of 128 bytes: of s for the first, of (c, e), e padded to 32, for the second.
constexpr int kRows = 64, kColumns = 4, kRight = 32;
constexpr int kSlab = 128;                         // bytes of K
constexpr int kATile = kRows * kSlab;              // of one c: rows i
constexpr int kBTile = kColumns * kRight * kSlab;  // rows (j, e)

// T: the operands' type; kThree: f32 as sums of two tf32 numbers, three products in place of one.
template <class T, bool kThree>
struct Format {
  static constexpr int kPerSlab = kSlab / static_cast<int>(sizeof(T));
  static constexpr int kLeftsPerSlab = kPerSlab / kRight;  // values of c in a slab of the weight
  static constexpr int kParts = kThree ? 3 : 1, kWeightParts = kThree ? 2 : 1;
};

// Where the operands lie in scratch, arranged: a (B, row tiles, C1, slabs, kATile), b (B, column tiles, slabs, kBTile),
// weight (channel tiles, slabs of c, parts, kChannels rows of a slab).
struct Arranged {
  int64_t row_tiles, column_tiles, slabs, part_slabs, weight_slabs, channel_tiles;
  int weight_parts, channels;
  size_t a_bytes, b_bytes, weight_bytes;

  __host__ __device__ size_t weight_tile() const { return size_t{kSlab} * static_cast<size_t>(channels); }
};

template <class T, bool kThree>
Arranged arranged(const OuterProduct& p) {
  using F = Format<T, kThree>;
  Arranged to{};
  to.row_tiles = ceil_div(p.rows, kRows);
  to.column_tiles = ceil_div(p.columns, kColumns);
  to.part_slabs = ceil_div(p.depth, F::kPerSlab);
  to.slabs = F::kParts * to.part_slabs;
  to.weight_slabs = ceil_div(p.left, F::kLeftsPerSlab);
  to.weight_parts = F::kWeightParts;
  to.channels = p.channels > 64 ? 128 : 64;
  to.channel_tiles = ceil_div(p.channels, to.channels);
  to.a_bytes = static_cast<size_t>(p.batch * to.row_tiles * p.left * to.slabs) * kATile;
  to.b_bytes = static_cast<size_t>(p.batch * to.column_tiles * to.slabs) * kBTile;
  to.weight_bytes = static_cast<size_t>(to.channel_tiles * to.weight_slabs * to.weight_parts) * to.weight_tile();
  return to;
}

struct Operands {
  const void *a, *b, *weight, *bias, *norm, *residual;
  void* y;
  std::byte *a_tiles, *b_tiles, *weight_tiles;
};

__device__ inline float to_tf32(float x) {
  float nearest;
  asm("{.reg .b32 bits; cvt.rna.tf32.f32 bits, %1; mov.b32 %0, bits;}" : "=f"(nearest) : "f"(x));
  return nearest;
}

// What of x stands in the high or the low part.
template <class T>
__device__ T part_of(T x, bool low) {
  if constexpr (std::is_same_v<T, float>) {
    const float high = to_tf32(x);
    return !low ? high : isfinite(high) ? to_tf32(x - high) : 0.0f;
  } else {
    return x;
  }
}

// Unit `unit` (16 bytes) of row `row` of a tile of slabs.
__device__ inline std::byte* unit_at(std::byte* tile, int64_t row, int unit) {
  return tile + row * kSlab + ((unit ^ static_cast<int>(row & 7)) * 16);
}

template <class T>
using Unit = Pack<T, kVector<T>>;

// Units of a: index over (B, row tiles, slabs, row, unit, C1).
template <class T, bool kThree>
__device__ void arrange_a(const OuterProduct& p, const Arranged& to, const Operands& in, int64_t index) {
  const int64_t c = index % p.left;
  index /= p.left;
  const int unit = static_cast<int>(index % 8), row = static_cast<int>(index / 8 % kRows);
  index /= 8 * kRows;
  const int64_t slab = index % to.slabs, tile = index / to.slabs % to.row_tiles, n = index / to.slabs / to.row_tiles;
  const int64_t i = tile * kRows + row, part = slab / to.part_slabs;
  const int64_t s = slab % to.part_slabs * Format<T, kThree>::kPerSlab + unit * kVector<T>;
  const T* from = static_cast<const T*>(in.a) + n * p.a[0] + i * p.a[2] + c * p.a[3];
  Unit<T> values{};
#pragma unroll
  for (int k = 0; k < kVector<T>; ++k)
    if (i < p.rows && s + k < p.depth) values.v[k] = part_of(from[(s + k) * p.a[1]], kThree && part == 0);
  const int64_t at = ((n * to.row_tiles + tile) * p.left + c) * to.slabs + slab;
  *reinterpret_cast<Unit<T>*>(unit_at(in.a_tiles + at * kATile, row, unit)) = values;
}

// Units of b: index over (B, column tiles, slabs, unit, rows (j, e)).
template <class T, bool kThree>
__device__ void arrange_b(const OuterProduct& p, const Arranged& to, const Operands& in, int64_t index) {
  constexpr int kTileRows = kColumns * kRight;
  const int row = static_cast<int>(index % kTileRows), unit = static_cast<int>(index / kTileRows % 8);
  index /= 8 * kTileRows;
  const int64_t slab = index % to.slabs, tile = index / to.slabs % to.column_tiles;
  const int64_t n = index / to.slabs / to.column_tiles;
  const int64_t j = tile * kColumns + row / kRight, e = row % kRight, part = slab / to.part_slabs;
  const int64_t s = slab % to.part_slabs * Format<T, kThree>::kPerSlab + unit * kVector<T>;
  const T* from = static_cast<const T*>(in.b) + n * p.b[0] + j * p.b[2] + e * p.b[3];
  Unit<T> values{};
#pragma unroll
  for (int k = 0; k < kVector<T>; ++k)
    if (j < p.columns && e < p.right && s + k < p.depth)
      values.v[k] = part_of(from[(s + k) * p.b[1]], kThree && part == 1);
  const int64_t at = (n * to.column_tiles + tile) * to.slabs + slab;
  *reinterpret_cast<Unit<T>*>(unit_at(in.b_tiles + at * kBTile, row, unit)) = values;
}

// Units of weight: index over (channel tiles, slabs, parts, unit, channels). tf32 takes its first factor from accumulators
// as they stand, columns 2 t and 2 t + 1 in place of t and t + 4: e is permuted so.
template <class T, bool kThree>
__device__ void arrange_weight(const OuterProduct& p, const Arranged& to, const Operands& in, int64_t index) {
  using F = Format<T, kThree>;
  const int row = static_cast<int>(index % to.channels), unit = static_cast<int>(index / to.channels % 8);
  index /= 8 * to.channels;
  const int64_t part = index % to.weight_parts, slab = index / to.weight_parts % to.weight_slabs;
  const int64_t tile = index / to.weight_parts / to.weight_slabs, channel = tile * to.channels + row;
  Unit<T> values{};
#pragma unroll
  for (int k = 0; k < kVector<T>; ++k) {
    const int at = unit * kVector<T> + k, place = at % kRight;
    const int e = std::is_same_v<T, float> ? place / 8 * 8 + place % 4 * 2 + place / 4 % 2 : place;
    const int64_t c = slab * F::kLeftsPerSlab + at / kRight;
    if (channel < p.channels && c < p.left && e < p.right)
      values.v[k] =
          part_of(static_cast<const T*>(in.weight)[(c * p.right + e) * p.weight[0] + channel * p.weight[1]], part == 1);
  }
  const int64_t at = (tile * to.weight_slabs + slab) * to.weight_parts + part;
  *reinterpret_cast<Unit<T>*>(unit_at(in.weight_tiles + at * to.weight_tile(), row, unit)) = values;
}

// A thread moves one unit of 16 bytes of a, b or weight to where it is arranged, zeros beyond their ends.
template <class T, bool kThree>
__global__ void __launch_bounds__(kBlock)
    arrange(const __grid_constant__ OuterProduct p, const __grid_constant__ Arranged to,
            const __grid_constant__ Operands in) {
  int64_t index = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (index < static_cast<int64_t>(to.a_bytes / 16)) return arrange_a<T, kThree>(p, to, in, index);
  index -= static_cast<int64_t>(to.a_bytes / 16);
  if (index < static_cast<int64_t>(to.b_bytes / 16)) return arrange_b<T, kThree>(p, to, in, index);
  index -= static_cast<int64_t>(to.b_bytes / 16);
  if (index < static_cast<int64_t>(to.weight_bytes / 16)) arrange_weight<T, kThree>(p, to, in, index);
}

}  // namespace plica::cuda::tiles
