#pragma once

#include "ops/cuda/attention_simt.cuh"
#include "ops/cuda/early_launch.cuh"

// `simt` for short sequences: the warps of a block share its rows, and split the keys.
namespace plica::cuda::attention {

// Lanes whose block has the rows of a warp's tile.
template <int kWidth, int kLaneRows, int kLaneKeys, int kWarps_>
struct SplitLanes : Lanes<kWidth, kLaneRows, kLaneKeys> {
  using Of = Lanes<kWidth, kLaneRows, kLaneKeys>;
  static constexpr int kWarps = kWarps_, kThreads = kWarps * kWarp;
  static constexpr int kTileElements = Of::kKeys * Of::kStride;
  static constexpr int kWarpElements = 2 * kTileElements + Of::kRows * Of::kWeightStride;
  static constexpr size_t kSharedBytes = sizeof(float) * (Of::kRows * Of::kStride + kWarps * kWarpElements);
  static_assert(2 * Of::kKeys >= Of::kRows);  // results take the place of keys and values
};

// A block's queries, times `scale`, to shared memory.
template <class L>
__device__ __forceinline__ void bring_queries(float* queries, const Matrix<float>& q, int first_row, float scale) {
#pragma unroll
  for (int i = 0; i < L::kRows * L::kWidth / 4; i += L::kThreads) {
    const int at = i + threadIdx.x, row = at / (L::kWidth / 4), column = at % (L::kWidth / 4) * 4;
    if (L::kRows * L::kWidth / 4 % L::kThreads != 0 && row >= L::kRows) break;
    const float* from = q.data + (first_row + row) * q.row + column * q.step;
    Pack<float, 4> values{};
    if (first_row + row < q.rows) {
      if (q.vectors && column + 4 <= q.columns) {
        values = *reinterpret_cast<const Pack<float, 4>*>(from);
      } else {
#pragma unroll
        for (int c = 0; c < 4; ++c)
          if (column + c < q.columns) values.v[c] = from[c * q.step];
      }
    }
#pragma unroll
    for (float& value : values.v) value *= scale;
    *reinterpret_cast<Pack<float, 4>*>(queries + row * L::kStride + column) = values;
  }
}

// What the warps of a block have found for their keys, where they read each other's.
template <class L>
struct SplitSums {
  float max[L::kWarps][L::kRows], sum[L::kWarps][L::kRows];

  __device__ __forceinline__ void keep(float* results, const WarpRows<L>& rows, int warp) {
#pragma unroll
    for (int r = 0; r < L::kLaneRows; ++r) {
      const int row = rows.place.down + r * L::kDown;
      const float added = reduce_across(rows.state.sum[r], [](float a, float b) { return a + b; });
      if (rows.place.across == 0) {
        max[warp][row] = rows.state.max[r];
        sum[warp][row] = added;
      }
#pragma unroll
      for (int g = 0; g < L::kColumnGroups; ++g)
        *reinterpret_cast<float4*>(results + row * L::kStride + g * 16 + rows.place.across * 4) = {
            rows.y[r][g * 4], rows.y[r][g * 4 + 1], rows.y[r][g * 4 + 2], rows.y[r][g * 4 + 3]};
    }
  }

  // Writes the block's rows of y; `results` of a warp and the next are kWarpElements apart. Whether this thread wrote zeros because weights
  // were NaN.
  __device__ __forceinline__ bool store(const float* results, const Output<float>& output, int first_row) const {
    bool undefined = false;
#pragma unroll 1
    for (int i = threadIdx.x; i < L::kRows * L::kWidth / 4; i += L::kThreads) {
      const int row = i / (L::kWidth / 4), column = i % (L::kWidth / 4) * 4;
      if (first_row + row >= output.shape.rows) break;
      float largest = -INFINITY;
#pragma unroll
      for (int w = 0; w < L::kWarps; ++w) largest = fmaxf(largest, max[w][row]);
      const float origin = largest == -INFINITY ? 0.0f : largest;
      float total = 0, values[4] = {};
#pragma unroll
      for (int w = 0; w < L::kWarps; ++w) {
        const float factor = exp2_approx((max[w][row] - origin) * kLog2E);
        const auto part =
            *reinterpret_cast<const Pack<float, 4>*>(results + w * L::kWarpElements + row * L::kStride + column);
        total = fmaf(sum[w][row], factor, total);
#pragma unroll
        for (int c = 0; c < 4; ++c) values[c] = fmaf(part.v[c], factor, values[c]);
      }
      const Normal normal(output.shape, total, output.shape.keys == 0);
      undefined |= normal.undefined;
#pragma unroll
      for (float& value : values) value = normal(value);
      output.store(values, first_row + row, column);
    }
    return undefined;
  }
};

// What follows the results of a block, apart from the kernel's own code, whose registers it would change.
__device__ __noinline__ void spoil_block(const Shape& shape, const Pointers& p, const int64_t* at, int first_row,
                                         int rows) {
  spoil_zeros<float>(shape, p, at, first_row, first_row + rows, threadIdx.x, blockDim.x);
}

// Flash attention (Dao and others 2022) in fp32. All warps of a block have the same kRows queries, each every kWarps-th tile of kKeys keys,
// and what it needs in shared memory of its own (SplitLanes::kSharedBytes in all): keys of the next tile come while values of
// this one are added, and values while keys are multiplied. Rows see all keys but for a mask.
template <class L>
__global__ void __launch_bounds__(L::kThreads)
    simt_split(const __grid_constant__ Shape shape, const __grid_constant__ Pointers p,
               const __grid_constant__ SimtLaunch launch) {
  extern __shared__ __align__(16) float tiles[];
  __shared__ int64_t at[kNumOperands];
  __shared__ SplitSums<L> sums;
  const int warp = threadIdx.x / kWarp;
  float* const k_tile = tiles + warp * L::kWarpElements;
  float* const v_tile = k_tile + L::kTileElements;
  float* const weights = v_tile + L::kTileElements;
  float* const queries = tiles + L::kWarps * L::kWarpElements;
  const int first_row = static_cast<int>(blockIdx.x % launch.query_tiles) * L::kRows;
  if (threadIdx.x == 0) shape.heads.offsets(blockIdx.x / launch.query_tiles, at);
  __syncthreads();
  const Matrix<float> k = matrix_of(shape, kK, p.k, at, launch.k_vectors);
  const Matrix<float> v = matrix_of(shape, kV, p.v, at, launch.v_vectors);
  using TileStager = Stager<float, kWarp, L::kKeys, L::kWidth, L::kStride>;
  const TileStager of_keys(k.row, k.columns), of_values(v.row, v.columns);
  const int num_tiles = (static_cast<int>(shape.keys) + L::kKeys - 1) / L::kKeys;
  const auto bring = [&](const TileStager& stager, float* tile, const Matrix<float>& from, int j) {
    if (j < num_tiles) stager.bring(tile, from, j * L::kKeys);
    commit_copies();
  };
  const int64_t mask_size = shape.mask == MaskKind::kBool ? 1 : sizeof(float);
  WarpRows<L> rows{shape,
                   {shape, static_cast<const char*>(p.mask) + at[kMask] * mask_size},
                   p.bias == nullptr ? nullptr : static_cast<const float*>(p.bias) + at[kBias],
                   nullptr,
                   false,
                   first_row};
  rows.clear();
  wait_for_earlier();
  bring(of_keys, k_tile, k, warp);
  bring(of_values, v_tile, v, warp);
  bring_queries<L>(queries, matrix_of(shape, kQ, p.q, at, launch.q_vectors), first_row, shape.scale);
  __syncthreads();
#pragma unroll 1
  for (int j = warp; j < num_tiles; j += L::kWarps) {
    rows.start(j * L::kKeys);
    wait_for_copies<1>();
    __syncwarp();
    rows.weigh(weights, queries, k_tile, j * L::kKeys);
    bring(of_keys, k_tile, k, j + L::kWarps);
    wait_for_copies<1>();
    __syncwarp();
    rows.add(weights, v_tile, j * L::kKeys);
    bring(of_values, v_tile, v, j + L::kWarps);
  }
  sums.keep(k_tile, rows, warp);
  __syncthreads();
  const Output<float> output{shape, p.gate == nullptr ? nullptr : static_cast<const float*>(p.gate) + at[kGate],
                             static_cast<float*>(p.y) + at[kY], launch.gate_vectors, launch.y_vectors};
  const bool undefined = sums.store(tiles, output, first_row);
  if (shape.zero_rows == ops::ZeroRows::kUndefined && __syncthreads_or(undefined))
    spoil_block(shape, p, at, first_row, L::kRows);
}

}  // namespace plica::cuda::attention
