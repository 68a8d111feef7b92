// A transpose of small f32 matrices. Included once a Highway target, so without #pragma once.
#if defined(PLICA_OPS_CPU_TRANSPOSE_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLICA_OPS_CPU_TRANSPOSE_TILE_INL_H_
#undef PLICA_OPS_CPU_TRANSPOSE_TILE_INL_H_
#else
#define PLICA_OPS_CPU_TRANSPOSE_TILE_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace plica::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// to[j * to_stride + i] = from[i * from_stride + j] for i, j < 4.
HWY_INLINE void transpose_4x4(const float* from, int64_t from_stride, float* HWY_RESTRICT to, int64_t to_stride) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> pairs;
  const auto r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + from_stride);
  const auto r2 = hn::LoadU(d, from + 2 * from_stride), r3 = hn::LoadU(d, from + 3 * from_stride);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, to + 3 * to_stride);
}
#endif

// to[j * to_stride + i] = from[i * from_stride + j] for i < rows, j < cols.
inline void transpose_tile(const float* from, int64_t from_stride, int64_t rows, int64_t cols, float* HWY_RESTRICT to,
                           int64_t to_stride) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  for (; i + 4 <= rows; i += 4) {
    int64_t j = 0;
    for (; j + 4 <= cols; j += 4)
      transpose_4x4(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride);
    for (; j < cols; ++j)
      for (int64_t l = i; l < i + 4; ++l) to[j * to_stride + l] = from[l * from_stride + j];
  }
#endif
  for (; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) to[j * to_stride + i] = from[i * from_stride + j];
}

}  // namespace HWY_NAMESPACE
}  // namespace plica::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard of this target
