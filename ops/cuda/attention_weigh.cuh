#pragma once

#include "ops/cuda/attention_terms.cuh"

// The softmax of tensor cores' kernels, tile by tile of scores as they stand in accumulators: lane = 4 g + t; a tile (16, 8) holds rows
// g and g + 8 in its first and second two, columns 2 t and 2 t + 1.
namespace plica::cuda::attention {

// Of two rows: weights are e^(s - at). Scores up to `limit` leave `at` as it is, so that weights stay below 2^8 and most tiles
// need no other lane's scores; NaN where `at` is to be looked at with each tile.
struct Origins {
  float at[2] = {-INFINITY, -INFINITY}, limit[2] = {NAN, NAN};
};

// Moves origins to the largest scores; what was summed so far is to shrink by `shrink`. Where an origin is so large that a
// product with it would lose what sets scores apart, it leaves the scores here, and true is returned.
template <int kTiles>
__device__ __forceinline__ bool raise(float (&s)[kTiles][4], Origins& origins, const float (&largest)[2], float scale,
                                      float (&shrink)[2]) {
  constexpr float kSlack = 5.5f;
  float origin[2];
  bool is_far = false;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float max = fmaxf(largest[h], __shfl_xor_sync(~0u, largest[h], 1));
    max = fmaxf(max, __shfl_xor_sync(~0u, max, 2));
    const float before = origins.at[h], now = fmaxf(before, max * scale);
    const bool far = !(fabsf(now) <= kFar / kLog2E);
    origins.at[h] = now;
    origins.limit[h] = far ? NAN : now + kSlack;
    origin[h] = now == -INFINITY ? 0.0f : now;  // while all keys are masked, weights are zero
    shrink[h] =
        exp2_approx(far ? (before - origin[h]) * kLog2E : __fsub_rn(__fmul_rn(before, kLog2E), __fmul_rn(now, kLog2E)));
    is_far = is_far || far;
  }
  if (!__any_sync(~0u, is_far)) return false;
#pragma unroll
  for (int n = 0; n < kTiles; ++n)
#pragma unroll
    for (int c = 0; c < 4; ++c) s[n][c] = fmaf(s[n][c], scale, -origin[c / 2]);
  return true;
}

// Scores s, still to be multiplied by the scale, become weights e^(scale s - at). Whether what was summed so far is to shrink by
// `shrink`.
template <int kTiles>
__device__ __forceinline__ bool weigh(float (&s)[kTiles][4], Origins& origins, float scale, float (&shrink)[2]) {
  float largest[2], factor = scale * kLog2E;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    largest[h] = fmaxf(s[0][2 * h], s[0][2 * h + 1]);
#pragma unroll
    for (int n = 1; n < kTiles; ++n) largest[h] = fmaxf(largest[h], fmaxf(s[n][2 * h], s[n][2 * h + 1]));
  }
  const bool is_below = largest[0] * scale <= origins.limit[0] && largest[1] * scale <= origins.limit[1];
  const bool shrinks = !__all_sync(~0u, is_below);
  bool is_far = false;
  if (shrinks) [[unlikely]] {
    is_far = raise(s, origins, largest, scale, shrink);
    if (is_far) factor = kLog2E;
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float from = is_far ? 0.0f : origins.at[h] * kLog2E;
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int c = 2 * h; c < 2 * h + 2; ++c) s[n][c] = exp2_approx(fmaf(s[n][c], factor, -from));
  }
  return shrinks;
}

}  // namespace plica::cuda::attention
