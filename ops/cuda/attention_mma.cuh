// Long because the kernel's steps, which share their tile shapes, stand together.
#pragma once

#include <algorithm>

#include "ops/cuda/attention_kernels.h"
#include "ops/cuda/attention_lacking.cuh"
#include "ops/cuda/attention_mma_modes.cuh"
#include "ops/cuda/attention_terms.cuh"
#include "ops/cuda/attention_weigh.cuh"
#include "ops/cuda/early_launch.cuh"

// The kernel `mma`: attention on tensor cores by instructions that sm_80 and all that came later have. Its code is kept small: what does not
// fit the caches of instructions costs more than what it saves.
namespace plica::cuda::attention {

// What an instantiation is made of. kHeads neighbouring heads that share bias go through a block together: each tile of bias is read into
// registers once for all of them.
template <class Mode_, int kWidth_, int kHeads_, int kKeys_ = Mode_::keys_a_tile(kWidth_), int kWarps_ = 4>
struct Tiling {
  using Mode = Mode_;
  using T = typename Mode::Element;
  static constexpr int kWidth = kWidth_, kHeads = kHeads_;
  static constexpr int kWarps = kWarps_, kThreads = kWarps * kWarp, kQueries = 16 * kWarps;
  static constexpr int kKeys = kKeys_, kKeyTiles = kKeys / 8, kColumnTiles = kWidth / 8;
  static constexpr int kKeyBlocks = (kKeys + kWarp - 1) / kWarp;
  static constexpr int kQueryStride = Mode::query_stride(kWidth), kKeyStride = Mode::key_stride(kWidth);
  static constexpr int kValueStride = Mode::value_stride(kWidth), kBiasStride = kKeys + 8, kResultStride = kWidth + 4;
  // Shared memory: queries of all heads, two stages of a tile of keys and values of each, two tiles of bias. Results lie over it at the end.
  static constexpr int kQueryElements = kQueries * kQueryStride, kHeadElements = kKeys * (kKeyStride + kValueStride);
  static constexpr int kStageElements = kHeads * kHeadElements, kBiasElements = kQueries * kBiasStride;

  static constexpr int kMinBlocks = (kWidth <= 64 ? 12 : kWidth == 128 ? 8 : 4) / kWarps;  // a multiprocessor

  static constexpr size_t shared_bytes(bool bias) {
    const size_t tiles = sizeof(T) * (kHeads * kQueryElements + 2 * kStageElements + (bias ? 2 * kBiasElements : 0));
    return std::max(tiles, sizeof(float) * kQueries * kResultStride * kHeads);
  }
};

// How a launch covers the shape: blocks are query tiles of groups of heads.
struct Launch {
  unsigned groups;  // of kHeads heads, among those that share their terms
  unsigned query_tiles;
  bool q_vectors, k_vectors, v_vectors, bias_vectors, gate_vectors, y_vectors;
};

// Scores of keys whose bit is not set become `value`; `bits` of two rows, for the 32 keys of tiles from `first` on.
template <int kTiles>
__device__ __forceinline__ void replace(float (&s)[kTiles][4], int first, const uint32_t (&bits)[2], float value) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const uint32_t mine = bits[h] >> threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = first; n < first + 4 && n < kTiles; ++n)
#pragma unroll
      for (int c = 0; c < 2; ++c)
        if ((mine >> ((n - first) * 8 + c) & 1) == 0) s[n][2 * h + c] = value;
  }
}

template <int kTiles>
__device__ __forceinline__ void hide_outside(float (&s)[kTiles][4], const int (&begin)[2], const int (&end)[2],
                                             int first_key) {
#pragma unroll
  for (int n = 0; n < kTiles; n += 4) {
    const uint32_t bits[2] = {keys_inside(begin[0], end[0], first_key + n * 8),
                              keys_inside(begin[1], end[1], first_key + n * 8)};
    replace(s, n, bits, -INFINITY);
  }
}

// What a mask does to the 32 keys of tiles from `first` on; `word` is what a mask of keys has for the lane's own of them.
template <class T, int kTiles>
__device__ __forceinline__ void apply_mask(float (&s)[kTiles][4], int first, const Mask<T>& mask, uint32_t word,
                                           int warp_row, int first_key) {
  const int lane = threadIdx.x % kWarp;
  if (mask.shape.mask == MaskKind::kAdded) {
    const float mine = __uint_as_float(word);
    if (__all_sync(~0u, mine == 0)) return;
#pragma unroll
    for (int n = first; n < first + 4 && n < kTiles; ++n)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float added = __shfl_sync(~0u, mine, (n - first) * 8 + lane % 4 * 2 + c);
        s[n][c] += added;
        s[n][c + 2] += added;
      }
    return;
  }
  uint32_t bits[2] = {~0u, ~0u};
  if (!mask.by_row()) {
    bits[0] = bits[1] = __ballot_sync(~0u, word != 0);
    if (bits[0] == ~0u) return;
  } else {
#pragma unroll 4
    for (int r = 0; r < 16; ++r) {
      const uint32_t word = mask.seen(min(warp_row + r, static_cast<int>(mask.shape.rows) - 1), first_key);
      if (lane / 4 == r % 8) (r < 8 ? bits[0] : bits[1]) = word;
    }
  }
  replace(s, first, bits, mask.shape.fill);
}

// A block's part of the shape: its heads, its queries, the keys that these see.
template <class C>
struct Block {
  int64_t at[C::kHeads][kNumOperands];  // offsets of its heads
  int num_heads;                        // that are there; others repeat the last
  int first_query;
  int begin, end;  // keys
  SeenByAll all;
};

// A mask of keys for a tile that comes, so that none waits for it: of each 32 keys a lane's own.
template <class C>
struct KeyMask {
  uint32_t words[C::kHeads][C::kKeyBlocks] = {};  // bits of a float, or whether the key is seen

  __device__ __forceinline__ void read(const Shape& shape, const Pointers& p, const Block<C>& block, int first_key) {
    using T = typename C::T;
#pragma unroll
    for (int head = 0; head < C::kHeads; ++head)
#pragma unroll
      for (int i = 0; i < C::kKeyBlocks; ++i) {
        const int key = first_key + i * kWarp + threadIdx.x % kWarp;
        const int64_t at = block.at[head][kMask] + key * shape.step[kMask];
        if (shape.mask == MaskKind::kBool)
          words[head][i] = key < shape.keys ? static_cast<const uint8_t*>(p.mask)[at] : 1;
        else
          words[head][i] = key < shape.keys ? __float_as_uint(widen(static_cast<const T*>(p.mask)[at])) : 0;
      }
  }
};

template <class C>
__device__ void find_block(Block<C>& block, const Shape& shape, const Launch& launch, bool narrows) {
  const unsigned group = blockIdx.x / launch.query_tiles;
  const int64_t outer = group / launch.groups, inner = int64_t{group % launch.groups} * C::kHeads;
  if (threadIdx.x == 0) {
    block.first_query = static_cast<int>(blockIdx.x % launch.query_tiles) * C::kQueries;
    block.num_heads = static_cast<int>(min(int64_t{C::kHeads}, shape.sharing - inner));
    block.begin = narrows ? INT32_MAX : 0;
    block.end = narrows ? 0 : static_cast<int>(shape.keys);
    block.all = {0, static_cast<int>(shape.keys)};
  }
  if (threadIdx.x < C::kHeads)
    shape.heads.offsets(outer * shape.sharing + min(inner + threadIdx.x, shape.sharing - 1), block.at[threadIdx.x]);
}

// Bias in the accumulators' places, from its tile in shared memory.
template <class C>
__device__ __forceinline__ void load_bias(float (&bias)[C::kKeyTiles][4], const typename C::T* tile) {
  using Pair = Pack<typename C::T, 2>;
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const typename C::T* mine = tile + (warp * 16 + lane / 4) * C::kBiasStride + lane % 4 * 2;
#pragma unroll
  for (int n = 0; n < C::kKeyTiles; ++n) {
    const Pair low = *reinterpret_cast<const Pair*>(mine + n * 8);
    const Pair high = *reinterpret_cast<const Pair*>(mine + n * 8 + 8 * C::kBiasStride);
    bias[n][0] = widen(low.v[0]);
    bias[n][1] = widen(low.v[1]);
    bias[n][2] = widen(high.v[0]);
    bias[n][3] = widen(high.v[1]);
  }
}

// Brings what tile j of keys needs: keys and values of every head, bias, and at first the queries.
template <class C>
class Bring {
 public:
  using T = typename C::T;

  __device__ Bring(const Shape& shape, const Pointers& p, const Launch& launch, const Block<C>& block, T* queries)
      : shape_(shape),
        p_(p),
        launch_(launch),
        block_(block),
        queries_(queries),
        keys_(shape.row[kK], static_cast<int>(shape.width)),
        values_(shape.row[kV], static_cast<int>(shape.value_width)),
        bias_(shape.row[kBias], static_cast<int>(shape.keys)) {}

  __device__ __forceinline__ void operator()(int j, int first_key) const {
    const int rows = static_cast<int>(shape_.rows), num_keys = static_cast<int>(shape_.keys);
    T* tile = queries_ + C::kHeads * C::kQueryElements + j % 2 * C::kStageElements;
    if (j == 0) bring_queries(rows);
#pragma unroll 1
    for (int head = 0; head < C::kHeads; ++head, tile += C::kHeadElements) {
      keys_.bring(tile, matrix(kK, p_.k, head, num_keys, launch_.k_vectors), first_key);
      values_.bring(tile + C::kKeys * C::kKeyStride, matrix(kV, p_.v, head, num_keys, launch_.v_vectors), first_key);
    }
    if (p_.bias != nullptr)
      bias_.bring(queries_ + C::kHeads * C::kQueryElements + 2 * C::kStageElements + j % 2 * C::kBiasElements,
                  matrix(kBias, p_.bias, 0, rows, launch_.bias_vectors), block_.first_query, first_key);
  }

 private:
  __device__ __forceinline__ Matrix<T> matrix(Operand operand, const void* data, int head, int num,
                                              bool vectors) const {
    const int64_t columns = operand == kBias ? shape_.keys : operand == kV ? shape_.value_width : shape_.width;
    return {static_cast<const T*>(data) + block_.at[head][operand],
            shape_.row[operand],
            shape_.step[operand],
            num,
            static_cast<int>(columns),
            vectors};
  }
  __device__ __forceinline__ void bring_queries(int rows) const {
    const Stager<T, C::kThreads, C::kQueries, C::kWidth, C::kQueryStride> stager(shape_.row[kQ],
                                                                                 static_cast<int>(shape_.width));
#pragma unroll 1
    for (int head = 0; head < C::kHeads; ++head)
      stager.bring(queries_ + head * C::kQueryElements, matrix(kQ, p_.q, head, rows, launch_.q_vectors),
                   block_.first_query);
  }

  const Shape& shape_;
  const Pointers& p_;
  const Launch& launch_;
  const Block<C>& block_;
  T* queries_;
  Stager<T, C::kThreads, C::kKeys, C::kWidth, C::kKeyStride> keys_;
  Stager<T, C::kThreads, C::kKeys, C::kWidth, C::kValueStride> values_;
  Stager<T, C::kThreads, C::kQueries, C::kKeys, C::kBiasStride> bias_;
};

// Two rows that a lane has a part of: where their weights begin, and sums of weights as an accumulator tile.
struct RowState {
  Origins origins;
  float sums[4] = {};
};

// The column of y that a lane has in an accumulator tile.
template <class C>
__device__ __forceinline__ int column_of(int e, int c) {
  constexpr int kInterleave = C::Mode::interleave(C::kWidth);
  return (e / kInterleave) * 8 * kInterleave + (threadIdx.x % 4 * 2 + c) * kInterleave + e % kInterleave;
}

// A warp's rows of one head's y go to shared memory, and from there to their place, times their gates. Whether some are zeros because
// their weights were NaN.
template <class C>
__device__ __forceinline__ bool keep_result(float* result, const float (&y)[C::kColumnTiles][4], const RowState& state,
                                            const Shape& shape, const bool (&empty)[2]) {
  const int lane = threadIdx.x % kWarp;
  bool undefined = false;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float sum = state.sums[2 * h];
    if constexpr (!C::Mode::kSumsByProduct) {
      sum += __shfl_xor_sync(0xffffffffu, sum, 1);
      sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    }
    const Normal normal(shape, sum, empty[h]);
    undefined |= normal.undefined;
    float* row = result + (lane / 4 + 8 * h) * C::kResultStride;
#pragma unroll
    for (int e = 0; e < C::kColumnTiles; ++e)
#pragma unroll
      for (int c = 0; c < 2; ++c) row[column_of<C>(e, c)] = normal(y[e][2 * h + c]);
  }
  return undefined;
}

template <class C>
__device__ void store_results(const float* results, const Shape& shape, const Pointers& p, const Launch& launch,
                              const Block<C>& block, int warp_row) {
  using T = typename C::T;
  constexpr int kAccess = kVector<T>, kChunks = C::kWidth / kAccess;
#pragma unroll 1
  for (int head = 0; head < block.num_heads; ++head, results += C::kQueries * C::kResultStride) {
    const int64_t* at = block.at[head];
    const Output<T> output{shape, p.gate == nullptr ? nullptr : static_cast<const T*>(p.gate) + at[kGate],
                           static_cast<T*>(p.y) + at[kY], launch.gate_vectors, launch.y_vectors};
#pragma unroll 1
    for (int i = threadIdx.x % kWarp; i < 16 * kChunks; i += kWarp) {
      const int row = i / kChunks, column = i % kChunks * kAccess;
      if (warp_row + row >= shape.rows) break;
      float values[kAccess];
#pragma unroll
      for (int x = 0; x < kAccess; x += 4)
        *reinterpret_cast<float4*>(values + x) =
            *reinterpret_cast<const float4*>(results + row * C::kResultStride + column + x);
      output.store(values, warp_row + row, column);
    }
  }
}

// A warp's two rows a lane: the keys that they see, and what becomes of their scores.
template <class C>
struct Rows {
  using T = typename C::T;
  const Shape& shape;
  const Pointers& p;
  const Block<C>& block;
  int warp_row;
  int begin[2] = {}, end[2] = {static_cast<int>(shape.keys), static_cast<int>(shape.keys)};
  bool scales = p.bias != nullptr || shape.mask != MaskKind::kNone;  // before the exponent
  float scale = scales ? 1.0f : shape.scale;                         // that is left

  // Also the range of a whole block, which was empty before.
  __device__ void find_ranges(Block<C>& whole) {
    const int lane = threadIdx.x % kWarp;
#pragma unroll 1
    for (int h = 0; h < 2; ++h) {
      const Range range = visible(shape, p, min(int64_t{warp_row} + lane / 4 + 8 * h, shape.rows - 1));
      (h == 0 ? begin[0] : begin[1]) = static_cast<int>(range.begin);
      (h == 0 ? end[0] : end[1]) = static_cast<int>(range.end);
      atomicMax(&whole.all.begin, static_cast<int>(range.begin));
      atomicMin(&whole.all.end, static_cast<int>(range.end));
      if (range.begin >= range.end || lane % 4 != 0) continue;
      atomicMin(&whole.begin, static_cast<int>(range.begin));
      atomicMax(&whole.end, static_cast<int>(range.end));
    }
  }
  __device__ bool sees_none(int first_key) const {
    return __all_sync(0xffffffffu, first_key + C::kKeys <= min(begin[0], begin[1]) || first_key >= max(end[0], end[1]));
  }
  __device__ bool sees_all(int first_key) const {
    return __all_sync(0xffffffffu, first_key >= max(begin[0], begin[1]) && first_key + C::kKeys <= min(end[0], end[1]));
  }

  // One tile of keys and values of one head.
  __device__ __forceinline__ void attend(float (&y)[C::kColumnTiles][4], RowState& state, const T* queries,
                                         const T* tile, const float (&bias)[C::kKeyTiles][4],
                                         const uint32_t (&mask_words)[C::kKeyBlocks], int head, int first_key) const {
    float s[C::kKeyTiles][4], shrink[2];
    C::Mode::template score<C::kWidth>(s, queries, tile);
    if (scales) {
#pragma unroll
      for (int n = 0; n < C::kKeyTiles; ++n)
#pragma unroll
        for (int c = 0; c < 4; ++c) s[n][c] = fmaf(s[n][c], shape.scale, bias[n][c]);
    }
    if (shape.mask != MaskKind::kNone) {
      const int64_t size = shape.mask == MaskKind::kBool ? 1 : sizeof(T);
      const Mask<T> mask{shape, static_cast<const char*>(p.mask) + block.at[head][kMask] * size};
#pragma unroll
      for (int n = 0; n < C::kKeyTiles; n += 4) apply_mask(s, n, mask, mask_words[n / 4], warp_row, first_key + n * 8);
    }
    if (!sees_all(first_key)) hide_outside(s, begin, end, first_key);
    if (weigh(s, state.origins, scale, shrink)) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        state.sums[c] *= shrink[c / 2];
#pragma unroll
        for (int e = 0; e < C::kColumnTiles; ++e) y[e][c] *= shrink[c / 2];
      }
    }
    C::Mode::add_values(y, state.sums, s, tile + C::kKeys * C::kKeyStride);
  }

  // The values of one head that were dropped from a tile.
  __device__ __forceinline__ void add_infinite(float (&y)[C::kColumnTiles][4], int head, int first_key) const {
    const Values<T> values{static_cast<const T*>(p.v) + block.at[head][kV], shape.row[kV], shape.step[kV],
                           static_cast<int>(shape.value_width)};
#pragma unroll 1
    for (int key = max(first_key, min(begin[0], begin[1])); key < min(first_key + C::kKeys, max(end[0], end[1])); ++key)
#pragma unroll
      for (int e = 0; e < C::kColumnTiles; ++e)
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const float value = values.infinite(key, column_of<C>(e, c));
          if (key >= begin[0] && key < end[0]) y[e][c] += value;
          if (key >= begin[1] && key < end[1]) y[e][2 + c] += value;
        }
  }
};

// Whether values of tile j were dropped, of any head; for all threads of a block.
template <class C>
__device__ __forceinline__ bool drop_infinite(typename C::T* stage) {
  bool found = false;
#pragma unroll 1
  for (int head = 0; head < C::kHeads; ++head)
    found |= drop_infinite<C::kThreads, C::kKeys, C::kWidth, C::kValueStride>(stage + head * C::kHeadElements +
                                                                              C::kKeys * C::kKeyStride);
  return __syncthreads_or(found);
}

// Flash attention (Dao and others 2022). A block takes kQueries queries of kHeads heads, a warp 16 of them; tiles of kKeys keys and
// values of all its heads come through two stages in shared memory (Tiling::shared_bytes), bias tiles beside them.
template <class C>
__global__ void __launch_bounds__(C::kThreads, C::kMinBlocks)
    mma(const __grid_constant__ Shape shape, const __grid_constant__ Pointers p,
        const __grid_constant__ Launch launch) {
  using T = typename C::T;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ Block<C> block;
  T* const queries = reinterpret_cast<T*>(shared);
  T* const stages = queries + C::kHeads * C::kQueryElements;
  T* const bias_tiles = stages + 2 * C::kStageElements;
  const bool narrows = shape.causal || p.segments != nullptr;
  find_block(block, shape, launch, narrows);
  wait_for_earlier();
  check_segments(shape, p);
  __syncthreads();
  const int warp = threadIdx.x / kWarp;
  Rows<C> rows{shape, p, block, block.first_query + warp * 16};
  if (narrows) {
    rows.find_ranges(block);
    __syncthreads();
  }
  const int first_tile = block.begin / C::kKeys * C::kKeys;
  const int num_tiles = block.end > 0 ? (block.end - first_tile + C::kKeys - 1) / C::kKeys : 0;
  const Bring<C> bring(shape, p, launch, block, queries);
  RowState state[C::kHeads];
  float y[C::kHeads][C::kColumnTiles][4] = {}, bias[C::kKeyTiles][4] = {};
  const bool masks_keys = shape.mask != MaskKind::kNone && shape.row[kMask] == 0;
  KeyMask<C> mask_ahead;
#pragma unroll 1
  for (int j = -1; j < num_tiles; ++j) {  // the first turn only brings what the next one needs
    const int first_key = first_tile + j * C::kKeys;
    wait_for_copies<0>();
    __syncthreads();
    if (j + 1 < num_tiles) bring(j + 1, first_key + C::kKeys);
    commit_copies();
    const KeyMask<C> mask = mask_ahead;
    if (masks_keys) mask_ahead.read(shape, p, block, first_key + C::kKeys);
    const bool lacks = j >= 0 && narrows && block.all.lacks(first_key, C::kKeys, static_cast<int>(shape.keys)) &&
                       drop_infinite<C>(stages + j % 2 * C::kStageElements);
    if (j < 0 || rows.warp_row >= shape.rows || (narrows && rows.sees_none(first_key))) continue;
    if (p.bias != nullptr) load_bias<C>(bias, bias_tiles + j % 2 * C::kBiasElements);
#pragma unroll
    for (int head = 0; head < C::kHeads; ++head) {
      rows.attend(y[head], state[head], queries + head * C::kQueryElements + warp * 16 * C::kQueryStride,
                  stages + j % 2 * C::kStageElements + head * C::kHeadElements, bias, mask.words[head], head,
                  first_key);
      if (lacks) rows.add_infinite(y[head], head, first_key);
    }
  }
  __syncthreads();
  float* const results = reinterpret_cast<float*>(shared) + warp * 16 * C::kResultStride;
  const bool empty[2] = {rows.begin[0] >= rows.end[0], rows.begin[1] >= rows.end[1]};
  bool undefined = false;
#pragma unroll
  for (int head = 0; head < C::kHeads; ++head)
    undefined |= keep_result<C>(results + head * C::kQueries * C::kResultStride, y[head], state[head], shape, empty);
  __syncwarp();
  store_results(results, shape, p, launch, block, rows.warp_row);
  if (!__any_sync(~0u, undefined)) return;
#pragma unroll 1
  for (int head = 0; head < block.num_heads; ++head)
    spoil_zeros<T>(shape, p, block.at[head], rows.warp_row, rows.warp_row + 16, threadIdx.x % kWarp, kWarp);
}

template <class C>
void launch_mma(const Shape& shape, const KernelArgs& args) {
  const Pointers p = pointers_of(shape, args);
  const auto vectors = [&](Operand operand, const void* data, int64_t length) {
    return data != nullptr && reads_vectors(shape, operand, data, length, sizeof(typename C::T));
  };
  const Launch launch{static_cast<unsigned>(ceil_div(shape.sharing, C::kHeads)),
                      static_cast<unsigned>(ceil_div(shape.rows, C::kQueries)),
                      vectors(kQ, p.q, shape.width),
                      vectors(kK, p.k, shape.width),
                      vectors(kV, p.v, shape.value_width),
                      vectors(kBias, p.bias, shape.keys),
                      vectors(kGate, p.gate, shape.value_width),
                      vectors(kY, p.y, shape.value_width)};
  const int64_t blocks = shape.heads.count / shape.sharing * launch.groups * launch.query_tiles;
  const size_t bytes = C::shared_bytes(p.bias != nullptr);
  cudaFuncSetAttribute(mma<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  launch_early({dim3(blocks_for(blocks, 1)), C::kThreads, bytes, stream_of(args)}, mma<C>, shape, p, launch);
}

// The smallest width that holds q, k and v; several heads a block where they share bias and enough blocks remain.
template <class Mode>
void launch_mma_of(const Shape& shape, const KernelArgs& args) {
  const int64_t width = std::max(shape.width, shape.value_width);
  const auto launch = [&]<int kWidth>(std::integral_constant<int, kWidth>) {
    constexpr int kHeads = Mode::heads_a_block(kWidth);
    if (kHeads > 1 && pointers_of(shape, args).bias != nullptr && fills_device(shape, 64, kHeads))
      return launch_mma<Tiling<Mode, kWidth, kHeads>>(shape, args);
    if constexpr (Mode::keys_a_longer_tile(kWidth) != Mode::keys_a_tile(kWidth))
      if (shape.keys > Mode::keys_a_tile(kWidth))
        return launch_mma<Tiling<Mode, kWidth, 1, Mode::keys_a_longer_tile(kWidth)>>(shape, args);
    if constexpr (Mode::kTakesFewerRows && kWidth == 32)
      if (ceil_div(shape.rows, 48) * 48 * 5 <= ceil_div(shape.rows, 64) * 64 * 4)
        return launch_mma<Tiling<Mode, kWidth, 1, Mode::keys_a_tile(kWidth), 3>>(shape, args);
    launch_mma<Tiling<Mode, kWidth, 1>>(shape, args);
  };
  if (width <= 16) return launch(std::integral_constant<int, 16>{});
  if (width <= 32) return launch(std::integral_constant<int, 32>{});
  if (width <= 64) return launch(std::integral_constant<int, 64>{});
  if (width <= 128) return launch(std::integral_constant<int, 128>{});
  launch(std::integral_constant<int, 256>{});
}

}  // namespace plica::cuda::attention
