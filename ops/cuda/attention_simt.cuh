// Long because the kernel's steps, which share their tile shapes, stand together.
#pragma once

#include <algorithm>

#include "ops/cuda/attention_kernels.h"
#include "ops/cuda/attention_lacking.cuh"
#include "ops/cuda/attention_stage.cuh"
#include "ops/cuda/attention_terms.cuh"

// The kernel `simt`: attention in fp32 on the ordinary arithmetic units. Its code is kept small: what does not fit the caches of
// instructions costs more than what it saves.
namespace plica::cuda::attention {

// What an instantiation is made of. A lane has kLaneRows rows and kLaneKeys columns of a warp's tile of scores, 8 lanes down and 4 across,
// rows and keys interleaved over the lanes: shared memory is read without conflicts.
template <int kWidth_, int kLaneRows_, int kLaneKeys_, bool kRagged_ = false>
struct Lanes {
  static constexpr int kWidth = kWidth_, kLaneRows = kLaneRows_, kLaneKeys = kLaneKeys_;
  static constexpr bool kRagged = kRagged_;
  static constexpr int kDown = 8, kAcross = 4, kWarps = kWidth == 64 ? 4 : 2, kThreads = kWarps * kWarp;
  static constexpr int kRows = kDown * kLaneRows, kKeys = kAcross * kLaneKeys;  // of a warp's tile
  static constexpr int kQueries = kWarps * kRows, kColumnGroups = kWidth / 16;  // of 4 columns of y a lane
  static constexpr int kStride = kWidth + 4, kWeightStride = kKeys + 4;
  static constexpr int kStageElements = 2 * kKeys * kStride;
  static constexpr int kScoreUnroll = std::max(1, 256 / (kLaneRows * kLaneKeys * 4));
  static constexpr int kValueUnroll = std::max(1, 256 / (kLaneRows * kWidth));
  static constexpr int kMinBlocks = kLaneRows == 8 ? 8 / kWarps : kLaneRows == 4 && kWidth <= 64 ? 12 / kWarps : 2;
  static constexpr size_t kSharedBytes = sizeof(float) * (2 * kStageElements + kQueries * (kStride + kWeightStride));
};

struct SimtLaunch {
  unsigned query_tiles;
  bool q_vectors, k_vectors, v_vectors, gate_vectors, y_vectors;
};

// Of a block: its offsets, the keys that any of its rows sees.
struct SimtBlock {
  int64_t at[kNumOperands];
  int begin, end;
  SeenByAll all;
};

// A lane's place in a warp's tile: lanes that read the same words are neighbours, down as well as across.
struct Place {
  int down, across;

  __device__ Place() {
    const int lane = threadIdx.x % kWarp;
    across = lane % 2 + lane / 4 % 2 * 2;
    down = lane / 2 % 2 + lane / 8 * 2;
  }
};
template <class Op>
__device__ float reduce_across(float value, Op op) {
  value = op(value, __shfl_xor_sync(0xffffffffu, value, 1));
  return op(value, __shfl_xor_sync(0xffffffffu, value, 4));
}

template <class L>
using LaneScores = float[L::kLaneRows][L::kLaneKeys];

template <class L>
struct SimtRows {
  float max[L::kLaneRows], sum[L::kLaneRows];

  // Scores become weights exp(s - max); what was summed so far is to shrink by `shrink`.
  __device__ __forceinline__ void weigh(LaneScores<L>& s, float (&shrink)[L::kLaneRows]) {
    bool near = true;
#pragma unroll
    for (int r = 0; r < L::kLaneRows; ++r) {
      float largest = max[r];
#pragma unroll
      for (float score : s[r]) largest = fmaxf(largest, score);
      largest = reduce_across(largest, [](float a, float b) { return fmaxf(a, b); });
      near = near && fabsf(largest) <= kFar;
      shrink[r] = max[r];
      max[r] = largest;
    }
    const bool all_near = __all_sync(0xffffffffu, near);
#pragma unroll
    for (int r = 0; r < L::kLaneRows; ++r) {
      float from = max[r] * kLog2E;
      if (!all_near) {
        const float origin = max[r] == -INFINITY ? 0.0f : max[r];  // while all keys are masked, their weights are zero
        shrink[r] -= origin;
        from = 0;
#pragma unroll
        for (float& score : s[r]) score -= origin;
      }
      shrink[r] = exp2_approx(fmaf(shrink[r], kLog2E, -from));
      float added = 0;
#pragma unroll
      for (float& score : s[r]) {
        score = exp2_approx(fmaf(score, kLog2E, -from));
        added += score;
      }
      sum[r] = sum[r] * shrink[r] + added;
    }
  }
};

// s += q k^T for a warp's rows and the first kAcross kNum keys of a tile, by the first `width` columns.
template <class L, int kNum>
__device__ __forceinline__ void add_scores(LaneScores<L>& s, const float* q, const float* k, int width) {
#pragma unroll(L::kScoreUnroll)
  for (int d = 0; d < width; d += 4) {
    float4 a[L::kLaneRows];
#pragma unroll
    for (int r = 0; r < L::kLaneRows; ++r) a[r] = *reinterpret_cast<const float4*>(q + r * L::kDown * L::kStride + d);
#pragma unroll
    for (int n = 0; n < kNum; ++n) {
      const float4 b = *reinterpret_cast<const float4*>(k + n * L::kAcross * L::kStride + d);
#pragma unroll
      for (int r = 0; r < L::kLaneRows; ++r) {
        s[r][n] = fmaf(a[r].x, b.x, s[r][n]);
        s[r][n] = fmaf(a[r].y, b.y, s[r][n]);
        s[r][n] = fmaf(a[r].z, b.z, s[r][n]);
        s[r][n] = fmaf(a[r].w, b.w, s[r][n]);
      }
    }
  }
}

// y += weights v for a warp's rows and the first keys of a tile of values.
template <class L>
__device__ __forceinline__ void add_values(float (&y)[L::kLaneRows][L::kColumnGroups * 4], const float* weights,
                                           const float* v, int keys) {
#pragma unroll(L::kValueUnroll)
  for (int key = 0; key < keys; key += 4) {
    Pack<float, 4> w[L::kLaneRows];
#pragma unroll
    for (int r = 0; r < L::kLaneRows; ++r)
      w[r] = *reinterpret_cast<const Pack<float, 4>*>(weights + r * L::kDown * L::kWeightStride + key);
#pragma unroll
    for (int x = 0; x < 4; ++x)
#pragma unroll
      for (int g = 0; g < L::kColumnGroups; ++g) {
        const auto b = *reinterpret_cast<const Pack<float, 4>*>(v + (key + x) * L::kStride + g * 16);
#pragma unroll
        for (int r = 0; r < L::kLaneRows; ++r)
#pragma unroll
          for (int c = 0; c < 4; ++c) y[r][g * 4 + c] = fmaf(w[r].v[x], b.v[c], y[r][g * 4 + c]);
      }
  }
}

// The range of each of a block's rows, and of all of them.
template <class L>
__device__ void find_ranges(SimtBlock& block, int2* ranges, const Shape& shape, const Pointers& p, int first_row) {
#pragma unroll 1
  for (int i = threadIdx.x; i < L::kQueries; i += L::kThreads) {
    const Range range = visible(shape, p, min(int64_t{first_row + i}, shape.rows - 1));
    ranges[i] = {static_cast<int>(range.begin), static_cast<int>(range.end)};
    atomicMax(&block.all.begin, ranges[i].x);
    atomicMin(&block.all.end, ranges[i].y);
    if (range.begin >= range.end) continue;
    atomicMin(&block.begin, ranges[i].x);
    atomicMax(&block.end, ranges[i].y);
  }
}

template <class L>
__device__ __forceinline__ void scale_queries(float* queries, float scale) {
#pragma unroll 4
  for (int i = threadIdx.x % kWarp; i < L::kRows * L::kStride; i += kWarp) queries[i] *= scale;
  __syncwarp();
}

// What stands in the accumulators before scores are added: bias, or zeros. Rows and keys outside repeat the last ones.
template <class L>
__device__ __forceinline__ void start_scores(LaneScores<L>& s, const float* bias, const Shape& shape, int row,
                                             int first_key, int across) {
  const int last_row = static_cast<int>(shape.rows) - 1, last_key = static_cast<int>(shape.keys) - 1;
  const bool dense = shape.step[kBias] == 1 && first_key + L::kKeys <= last_key + 1;
#pragma unroll
  for (int r = 0; r < L::kLaneRows; ++r) {
    const float* from = bias + min(row + r * L::kDown, last_row) * shape.row[kBias];
    if (bias == nullptr) {
#pragma unroll
      for (float& score : s[r]) score = 0;
    } else if (dense) {
      from += first_key + across;
#pragma unroll
      for (int n = 0; n < L::kLaneKeys; ++n) s[r][n] = from[n * L::kAcross];
    } else {
#pragma unroll
      for (int n = 0; n < L::kLaneKeys; ++n)
        s[r][n] = from[min(first_key + across + n * L::kAcross, last_key) * shape.step[kBias]];
    }
  }
}

// Scores of a row's keys whose bit is not set become `value`.
template <int kLaneKeys>
__device__ __forceinline__ void replace(float (&s)[kLaneKeys], uint32_t bits, int across, float value) {
  bits >>= across;
#pragma unroll
  for (int n = 0; n < kLaneKeys; ++n)
    if ((bits >> (n * 4) & 1) == 0) s[n] = value;
}

template <class L>
__device__ __forceinline__ void apply_mask(LaneScores<L>& s, const Mask<float>& mask, const Place& place, int warp_row,
                                           int first_key) {
  if (mask.shape.mask == MaskKind::kAdded) {
    if (mask.adds_nothing(first_key)) return;
#pragma unroll
    for (int n = 0; n < L::kLaneKeys; ++n) {
      const float added = mask.added(first_key + place.across + n * L::kAcross);
#pragma unroll
      for (int r = 0; r < L::kLaneRows; ++r) s[r][n] += added;
    }
    return;
  }
  const uint32_t of_keys = mask.by_row() ? 0 : mask.seen(0, first_key);
  if (of_keys == ~0u) return;
#pragma unroll
  for (int r = 0; r < L::kLaneRows; ++r) {
    uint32_t bits = of_keys;
    if (mask.by_row()) {
#pragma unroll 1
      for (int down = 0; down < L::kDown; ++down) {
        const int row = min(warp_row + r * L::kDown + down, static_cast<int>(mask.shape.rows) - 1);
        const uint32_t word = mask.seen(row, first_key);
        if (down == place.down) bits = word;
      }
    }
    replace(s[r], bits, place.across, mask.shape.fill);
  }
}

template <class L>
__device__ __forceinline__ void hide_outside(LaneScores<L>& s, const int2* ranges, bool narrows, int keys,
                                             const Place& place, int first_key) {
#pragma unroll
  for (int r = 0; r < L::kLaneRows; ++r) {
    const int2 range = narrows ? ranges[place.down + r * L::kDown] : int2{0, keys};
    replace(s[r], keys_inside(range.x, range.y, first_key), place.across, -INFINITY);
  }
}

// A warp's rows of y go to where its queries were, and from there to their place, times their gates. Whether some are zeros because
// their weights were NaN.
template <class L>
__device__ __forceinline__ bool store_results(float* results, const float (&y)[L::kLaneRows][L::kColumnGroups * 4],
                                              const SimtRows<L>& rows, const Output<float>& output, const Place& place,
                                              const int2* ranges, bool narrows, int warp_row) {
  bool undefined = false;
#pragma unroll
  for (int r = 0; r < L::kLaneRows; ++r) {
    const int row = place.down + r * L::kDown;
    const float sum = reduce_across(rows.sum[r], [](float a, float b) { return a + b; });
    const bool empty = narrows ? ranges[row].x >= ranges[row].y : output.shape.keys == 0;
    const Normal normal(output.shape, sum, empty);
    undefined |= normal.undefined;
#pragma unroll
    for (int g = 0; g < L::kColumnGroups; ++g)
      *reinterpret_cast<float4*>(results + row * L::kStride + g * 16 + place.across * 4) = {
          normal(y[r][g * 4]), normal(y[r][g * 4 + 1]), normal(y[r][g * 4 + 2]), normal(y[r][g * 4 + 3])};
  }
  __syncwarp();
#pragma unroll 1
  for (int i = threadIdx.x % kWarp; i < L::kRows * L::kWidth / 4; i += kWarp) {
    const int row = i / (L::kWidth / 4), column = i % (L::kWidth / 4) * 4;
    if (warp_row + row >= output.shape.rows) break;
    const auto values = *reinterpret_cast<const Pack<float, 4>*>(results + row * L::kStride + column);
    output.store(values.v, warp_row + row, column);
  }
  return __any_sync(~0u, undefined);
}

// Weights of a warp's tile, where its lanes read each other's.
template <class L>
__device__ __forceinline__ bool keep_weights(float* weights, const LaneScores<L>& s,
                                             const float (&shrink)[L::kLaneRows]) {
  bool shrinks = false;
#pragma unroll
  for (int r = 0; r < L::kLaneRows; ++r) {
    shrinks = shrinks || shrink[r] != 1;
#pragma unroll
    for (int n = 0; n < L::kLaneKeys; ++n) weights[r * L::kDown * L::kWeightStride + n * L::kAcross] = s[r][n];
  }
  __syncwarp();
  return __any_sync(0xffffffffu, shrinks);
}

// An operand at a head.
__device__ inline Matrix<float> matrix_of(const Shape& shape, Operand operand, const void* data,
                                          const int64_t (&at)[kNumOperands], bool vectors) {
  return {static_cast<const float*>(data) + at[operand],
          shape.row[operand],
          shape.step[operand],
          static_cast<int>(operand == kQ ? shape.rows : shape.keys),
          static_cast<int>(operand == kV ? shape.value_width : shape.width),
          vectors};
}

// Brings what tile j of keys needs: keys and values, and at first the queries.
template <class L>
struct BringTiles {
  Matrix<float> q, k, v;
  Stager<float, L::kThreads, L::kKeys, L::kWidth, L::kStride> of_keys{k.row, k.columns}, of_values{v.row, v.columns};

  __device__ BringTiles(const Shape& shape, const Pointers& p, const SimtLaunch& launch,
                        const int64_t (&at)[kNumOperands])
      : q(matrix_of(shape, kQ, p.q, at, launch.q_vectors)),
        k(matrix_of(shape, kK, p.k, at, launch.k_vectors)),
        v(matrix_of(shape, kV, p.v, at, launch.v_vectors)) {}

  __device__ __forceinline__ void operator()(int j, float* tiles, int first_row, int first_key) const {
    float* const tile = tiles + (j & 1) * L::kStageElements;
    if (j == 0)
      Stager<float, L::kThreads, L::kQueries, L::kWidth, L::kStride>(q.row, q.columns)
          .bring(tiles + 2 * L::kStageElements, q, first_row);
    of_keys.bring(tile, k, first_key);
    of_values.bring(tile + L::kKeys * L::kStride, v, first_key);
  }
};

// A warp's rows: scores before and after their weights are known, and what is summed.
template <class L>
struct WarpRows {
  const Shape& shape;
  const Mask<float> mask;
  const float* bias;   // at this head, or null
  const int2* ranges;  // of keys that the rows see, where rows differ
  bool narrows;
  int warp_row;
  Place place;
  SimtRows<L> state;
  LaneScores<L> s;
  float y[L::kLaneRows][L::kColumnGroups * 4];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int r = 0; r < L::kLaneRows; ++r) {
      state.max[r] = -INFINITY;
      state.sum[r] = 0;
#pragma unroll
      for (float& value : y[r]) value = 0;
    }
  }

  __device__ __forceinline__ void start(int first_key) {
    start_scores<L>(s, bias, shape, warp_row + place.down, first_key, place.across);
  }

  // Scores of a tile of keys become weights, and lie in `weights` afterwards.
  __device__ __forceinline__ void weigh(float* weights, const float* queries, const float* k, int first_key) {
    const int keys = static_cast<int>(shape.keys);
    const float *q = queries + place.down * L::kStride, *mine = k + place.across * L::kStride;
    const int width = L::kRagged ? static_cast<int>(shape.width) : L::kWidth;
    if (L::kRagged && keys - first_key <= L::kAcross)
      add_scores<L, 1>(s, q, mine, width);
    else
      add_scores<L, L::kLaneKeys>(s, q, mine, width);
    if (shape.mask != MaskKind::kNone) apply_mask<L>(s, mask, place, warp_row, first_key);
    if (narrows || first_key + L::kKeys > keys) hide_outside<L>(s, ranges, narrows, keys, place, first_key);
    float shrink[L::kLaneRows];
    state.weigh(s, shrink);
    if (!keep_weights<L>(weights + place.down * L::kWeightStride + place.across, s, shrink)) return;
#pragma unroll
    for (int r = 0; r < L::kLaneRows; ++r)
#pragma unroll
      for (float& value : y[r]) value *= shrink[r];
  }

  __device__ __forceinline__ void add(const float* weights, const float* v, int first_key) {
    add_values<L>(y, weights + place.down * L::kWeightStride, v + place.across * 4,
                  L::kRagged ? min(static_cast<int>(shape.keys) - first_key, L::kKeys) : L::kKeys);
    __syncwarp();
  }

  // Values that were dropped from a tile.
  __device__ __forceinline__ void add_infinite(const Values<float>& v, int first_key) {
#pragma unroll 1
    for (int key = first_key; key < min(first_key + L::kKeys, static_cast<int>(shape.keys)); ++key)
#pragma unroll
      for (int i = 0; i < L::kColumnGroups * 4; ++i) {
        const float value = v.infinite(key, i / 4 * 16 + place.across * 4 + i % 4);
#pragma unroll
        for (int r = 0; r < L::kLaneRows; ++r) {
          const int2 range = ranges[place.down + r * L::kDown];
          if (key >= range.x && key < range.y) y[r][i] += value;
        }
      }
  }
};

// Flash attention (Dao and others 2022) in fp32. A warp takes kRows queries; the warps of a block share two stages of a tile of kKeys keys
// and values in shared memory. Weights go through shared memory of the warp's own (Lanes::kSharedBytes in all).
template <class L>
__global__ void __launch_bounds__(L::kThreads, L::kMinBlocks)
    simt(const __grid_constant__ Shape shape, const __grid_constant__ Pointers p,
         const __grid_constant__ SimtLaunch launch) {
  extern __shared__ __align__(16) float tiles[];
  __shared__ SimtBlock block;
  __shared__ int2 ranges[L::kQueries];
  const int warp = threadIdx.x / kWarp;
  float* const queries = tiles + 2 * L::kStageElements;
  float* const mine = queries + warp * L::kRows * L::kStride;
  float* const weights = queries + L::kQueries * L::kStride + warp * L::kRows * L::kWeightStride;
  const int first_row = static_cast<int>(blockIdx.x % launch.query_tiles) * L::kQueries;
  const bool narrows = shape.causal || p.segments != nullptr;
  check_segments(shape, p);
  if (threadIdx.x == 0) {
    shape.heads.offsets(blockIdx.x / launch.query_tiles, block.at);
    block.begin = narrows ? INT32_MAX : 0;
    block.end = narrows ? 0 : static_cast<int>(shape.keys);
    block.all = {0, static_cast<int>(shape.keys)};
  }
  __syncthreads();
  if (narrows) {
    find_ranges<L>(block, ranges, shape, p, first_row);
    __syncthreads();
  }
  const int first_tile = block.begin / L::kKeys * L::kKeys;
  const int num_tiles = block.end > 0 ? (block.end - first_tile + L::kKeys - 1) / L::kKeys : 0;
  const BringTiles<L> bring(shape, p, launch, block.at);
  const int64_t mask_size = shape.mask == MaskKind::kBool ? 1 : sizeof(float);
  WarpRows<L> rows{shape,
                   {shape, static_cast<const char*>(p.mask) + block.at[kMask] * mask_size},
                   p.bias == nullptr ? nullptr : static_cast<const float*>(p.bias) + block.at[kBias],
                   ranges + warp * L::kRows,
                   narrows,
                   first_row + warp * L::kRows};
  rows.clear();
#pragma unroll 1
  for (int j = -1; j < num_tiles; ++j) {  // the first turn only brings what the next one needs
    const int first_key = first_tile + j * L::kKeys;
    const float* const tile = tiles + (j & 1) * L::kStageElements;
    wait_for_copies<0>();
    __syncthreads();
    if (j + 1 < num_tiles) bring(j + 1, tiles, first_row, first_key + L::kKeys);
    commit_copies();
    const bool lacks = j >= 0 && narrows && block.all.lacks(first_key, L::kKeys, static_cast<int>(shape.keys)) &&
                       __syncthreads_or(drop_infinite<L::kThreads, L::kKeys, L::kWidth, L::kStride>(
                           tiles + (j & 1) * L::kStageElements + L::kKeys * L::kStride));
    if (rows.warp_row >= shape.rows) continue;
    if (j == 0) scale_queries<L>(mine, shape.scale);
    if (j >= 0) rows.weigh(weights, mine, tile, first_key);
    if (j + 1 < num_tiles) rows.start(first_key + L::kKeys);  // bias comes while values are added
    if (j >= 0) rows.add(weights, tile + L::kKeys * L::kStride, first_key);
    if (lacks)
      rows.add_infinite({static_cast<const float*>(p.v) + block.at[kV], shape.row[kV], shape.step[kV],
                         static_cast<int>(shape.value_width)},
                        first_key);
  }
  const Output<float> output{shape, p.gate == nullptr ? nullptr : static_cast<const float*>(p.gate) + block.at[kGate],
                             static_cast<float*>(p.y) + block.at[kY], launch.gate_vectors, launch.y_vectors};
  if (store_results<L>(mine, rows.y, rows.state, output, rows.place, rows.ranges, narrows, rows.warp_row))
    spoil_zeros<float>(shape, p, block.at, rows.warp_row, rows.warp_row + L::kRows, threadIdx.x % kWarp, kWarp);
}

// How a kernel whose blocks have `rows` queries is launched.
inline SimtLaunch simt_launch(const Shape& shape, const Pointers& p, int rows) {
  const auto vectors = [&](Operand operand, const void* data, int64_t length) {
    return data != nullptr && reads_vectors(shape, operand, data, length, sizeof(float));
  };
  return {static_cast<unsigned>(ceil_div(shape.rows, rows)),
          vectors(kQ, p.q, shape.width),
          vectors(kK, p.k, shape.width),
          vectors(kV, p.v, shape.value_width),
          vectors(kGate, p.gate, shape.value_width),
          vectors(kY, p.y, shape.value_width)};
}

template <class L>
void launch_simt(const Shape& shape, const KernelArgs& args) {
  const Pointers p = pointers_of(shape, args);
  const SimtLaunch launch = simt_launch(shape, p, L::kQueries);
  cudaFuncSetAttribute(simt<L>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(L::kSharedBytes));
  simt<L><<<blocks_for(shape.heads.count * launch.query_tiles, 1), L::kThreads, L::kSharedBytes, stream_of(args)>>>(
      shape, p, launch);
}

}  // namespace plica::cuda::attention
