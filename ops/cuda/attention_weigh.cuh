#pragma once

#include "ops/cuda/attention_terms.cuh"

// The softmax of tensor cores' kernels, tile by tile of scores as they stand in accumulators: lane = 4 g + t; a tile (16, 8) holds rows g and
// g + 8 in its first and second two, columns 2 t and 2 t + 1.
namespace plica::cuda::attention {

// Two rows of scores that a lane has a part of: the largest so far, and sums of weights as an accumulator tile.
struct RowState {
  float max[2] = {-INFINITY, -INFINITY}, sums[4] = {};
};

// Scores become weights 2^(factor (s - max)); what was summed so far is to shrink by `shrink`.
template <int kTiles>
__device__ __forceinline__ void weigh(float (&s)[kTiles][4], RowState& state, float factor, float (&shrink)[2]) {
  float from[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float max = state.max[h];
#pragma unroll
    for (int n = 0; n < kTiles; ++n) max = fmaxf(max, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
    max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 1));
    max = fmaxf(max, __shfl_xor_sync(0xffffffffu, max, 2));
    shrink[h] = state.max[h];
    state.max[h] = max;
    from[h] = max * factor;
  }
  if (!__all_sync(0xffffffffu, fabsf(from[0]) <= kFar && fabsf(from[1]) <= kFar)) [[unlikely]] {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float origin =
          state.max[h] == -INFINITY ? 0.0f : state.max[h];  // while all keys are masked, weights are zero
      shrink[h] -= origin;
      from[h] = 0;
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
        s[n][2 * h] -= origin;
        s[n][2 * h + 1] -= origin;
      }
    }
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    shrink[h] = exp2_approx(fmaf(shrink[h], factor, -from[h]));
#pragma unroll
    for (int n = 0; n < kTiles; ++n)
#pragma unroll
      for (int c = 2 * h; c < 2 * h + 2; ++c) s[n][c] = exp2_approx(fmaf(s[n][c], factor, -from[h]));
  }
}

}  // namespace plica::cuda::attention
