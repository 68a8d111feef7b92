// The inner loops of the matrix product. Included once a Highway target, so without #pragma once.
#if defined(PLICA_OPS_CPU_GEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLICA_OPS_CPU_GEMM_TILE_INL_H_
#undef PLICA_OPS_CPU_GEMM_TILE_INL_H_
#else
#define PLICA_OPS_CPU_GEMM_TILE_INL_H_
#endif

#include <array>
#include <cstdint>
#include <utility>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plica::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
inline constexpr int kLanes = static_cast<int>(hn::MaxLanes(FloatTag()));

// A tile of c is `kTileRows` x `kTileVectors` accumulators: 32 registers hold 28 of them, 16 hold 12.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int kTileRows = 14;
#else
inline constexpr int kTileRows = 6;
#endif
inline constexpr int kTileVectors = 2;
inline constexpr int kTileCols = kTileVectors * kLanes;

// What a tile's sums are added to: bias (kVectors * kLanes) and a matrix, each where not null. The sums themselves begin at
// zero, so that the roundings of a long k are those of its passes.
struct TileBase {
  const float* bias = nullptr;
  const float* matrix = nullptr;
  int64_t stride = 0;
  const float* ahead = nullptr;  // memory to bring closer meanwhile, a line of it a step of b
};

template <int kRows, int kVectors>
HWY_INLINE void add_base(const TileBase& base, hn::Vec<FloatTag> (&sum)[kRows][kVectors]) {
  const FloatTag d;
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    const auto bias = base.bias ? hn::LoadU(d, base.bias + j * kLanes) : hn::Zero(d);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) sum[i][j] = hn::Add(sum[i][j], bias);
  }
  if (!base.matrix) return;
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j)
      sum[i][j] = hn::Add(sum[i][j], hn::LoadU(d, base.matrix + i * base.stride + j * kLanes));
}

// c (kRows, kVectors * kLanes) = base + a @ b over k steps. `b` holds kVectors vectors a step. Where kPacked, `a` holds kRows
// values a step; otherwise its rows lie a_stride apart.
template <bool kPacked, int kRows, int kVectors>
void multiply_tile(const float* HWY_RESTRICT a, int64_t a_stride, const float* HWY_RESTRICT b, int64_t k,
                   const TileBase& base, float* c, int64_t c_stride) {
  const FloatTag d;
  hn::Vec<FloatTag> sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::Zero(d);
  // Every fourth row has a pointer: the addresses of the others need no register of their own.
  constexpr int kPointers = (kRows + 3) / 4;
  const float* rows[kPointers];
#pragma GCC unroll 4
  for (int i = 0; i < kPointers; ++i) rows[i] = a + i * 4 * a_stride;
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kVectors; ++j) {
      __builtin_prefetch(c + i * c_stride + j * kLanes, 1);
      if (base.matrix) __builtin_prefetch(base.matrix + i * base.stride + j * kLanes);
    }
  const float* ahead = base.ahead;
  for (int64_t step = 0; step < k; ++step, b += kVectors * kLanes, ahead += kVectors * kLanes) {
    __builtin_prefetch(ahead, 0, 2);
    hn::Vec<FloatTag> row[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) row[j] = hn::Load(d, b + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const auto scalar = hn::Set(d, kPacked ? a[step * kRows + i] : rows[i / 4][i % 4 * a_stride + step]);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[i][j] = hn::MulAdd(scalar, row[j], sum[i][j]);
    }
  }
  add_base<kRows, kVectors>(base, sum);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) hn::StoreU(sum[i][j], d, c + i * c_stride + j * kLanes);
}

using MultiplyTile = void (*)(const float* a, int64_t a_stride, const float* b, int64_t k, const TileBase& base,
                              float* c, int64_t c_stride);

template <bool kPacked, int kVectors, int... kRowsMinus1>
constexpr std::array<MultiplyTile, sizeof...(kRowsMinus1)> tiles_of(std::integer_sequence<int, kRowsMinus1...>) {
  return {multiply_tile<kPacked, kRowsMinus1 + 1, kVectors>...};
}

// Tiles that read a where it lies are less tall: 3 pointers, a stride and its triple are what the registers hold beside the loop's own.
inline constexpr int kDirectRows = HWY_MIN(kTileRows, 12);

// [vectors - 1][rows - 1]
inline constexpr std::array<MultiplyTile, kTileRows> kPackedTiles[kTileVectors] = {
    tiles_of<true, 1>(std::make_integer_sequence<int, kTileRows>()),
    tiles_of<true, 2>(std::make_integer_sequence<int, kTileRows>())};
inline constexpr std::array<MultiplyTile, kDirectRows> kDirectTiles[kTileVectors] = {
    tiles_of<false, 1>(std::make_integer_sequence<int, kDirectRows>()),
    tiles_of<false, 2>(std::make_integer_sequence<int, kDirectRows>())};

// packed[step * rows + i] = a[i * row_stride + step]. Writes up to 3 values beyond the panel.
inline void pack_adjacent_steps(const float* a, int64_t row_stride, int rows, int64_t k, float* HWY_RESTRICT packed) {
  int64_t step = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d4;
  const hn::FixedTag<double, 2> d2;
  const auto as_pairs = [&](auto v) HWY_ATTR { return hn::BitCast(d2, v); };
  const int num_groups = (rows + 3) / 4;
  for (; step + 4 <= k; step += 4) {
    // The last group of rows goes first: what it writes beyond its rows is overwritten by the others.
    for (int g = num_groups - 1, count = 0; count < num_groups; ++count, g = count - 1) {
      const int row = g * 4, last = rows - 1;
      const float* at = a + step;
      const auto r0 = hn::LoadU(d4, at + row * row_stride);
      const auto r1 = hn::LoadU(d4, at + HWY_MIN(row + 1, last) * row_stride);
      const auto r2 = hn::LoadU(d4, at + HWY_MIN(row + 2, last) * row_stride);
      const auto r3 = hn::LoadU(d4, at + HWY_MIN(row + 3, last) * row_stride);
      const auto low01 = as_pairs(hn::InterleaveLower(d4, r0, r1)), low23 = as_pairs(hn::InterleaveLower(d4, r2, r3));
      const auto high01 = as_pairs(hn::InterleaveUpper(d4, r0, r1)), high23 = as_pairs(hn::InterleaveUpper(d4, r2, r3));
      float* out = packed + step * rows + row;
      hn::StoreU(hn::BitCast(d4, hn::InterleaveLower(d2, low01, low23)), d4, out);
      hn::StoreU(hn::BitCast(d4, hn::InterleaveUpper(d2, low01, low23)), d4, out + rows);
      hn::StoreU(hn::BitCast(d4, hn::InterleaveLower(d2, high01, high23)), d4, out + 2 * rows);
      hn::StoreU(hn::BitCast(d4, hn::InterleaveUpper(d2, high01, high23)), d4, out + 3 * rows);
    }
  }
#endif
  for (; step < k; ++step)
    for (int i = 0; i < rows; ++i) packed[step * rows + i] = a[i * row_stride + step];
}

}  // namespace HWY_NAMESPACE
}  // namespace plica::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
