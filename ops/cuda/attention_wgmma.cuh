// Long because the kernel's steps, which share their registers, stand together.
#pragma once

#include <algorithm>

#include "ops/cuda/attention_fragments.cuh"
#include "ops/cuda/attention_kernels.h"
#include "ops/cuda/attention_weigh.cuh"
#include "ops/cuda/attention_wgmma_bring.cuh"

// The kernel `wgmma`: attention on Hopper's tensor cores, bf16 and fp16.
namespace plica::cuda::attention {

// A lane's share of a tile of scores: of two rows, for each 32 keys, 8 neighbouring ones. Element e of row h of block b:
template <int kTiles>
__device__ __forceinline__ float& score_of(float (&s)[kTiles][4], int b, int h, int e) {
  return s[4 * b + e / 2][2 * h + e % 2];
}

// A warpgroup and its 64 queries.
template <class C>
class Attender {
 public:
  using T = typename C::T;

  __device__ Attender(const Shape& shape, const Pointers& p, WgmmaShared<C>& shared)
      : shape_(shape), p_(p), shared_(shared) {}

  __device__ __forceinline__ void run() {
    Turn<C::kStages> stages;
#pragma unroll 1
    for (Turn<C::kItems> items;; ++items.count) {
      wait_barrier(&shared_.item_full[items.slot()], items.phase());
      const WgmmaItem<C>& item = shared_.items[items.slot()];
      if (item.first_row < 0) return;
      attend(item, shared_.queries[items.slot()][group()], stages);
      release(&shared_.item_empty[items.slot()]);
    }
  }

 private:
  using Scores = float[C::kKeyTiles][4];
  using Eight = uint4;  // elements of 16 bits

  __device__ static int group() { return threadIdx.x / C::kGroupThreads; }
  __device__ static int warp() { return threadIdx.x % C::kGroupThreads / kWarp; }
  __device__ static int lane() { return threadIdx.x % kWarp; }

  __device__ static uint32_t pair_of(const Eight& eight, int i) {
    return i == 0 ? eight.x : i == 1 ? eight.y : i == 2 ? eight.z : eight.w;
  }

  __device__ static void release(uint64_t* barrier) {
    __syncwarp();
    if (lane() == 0) arrive(barrier);
  }

  __device__ __forceinline__ void attend(const WgmmaItem<C>& item, std::byte* queries, Turn<C::kStages>& stages) {
    const typename WgmmaItem<C>::Keys seen = item.keys[group()];
    row_ = item.first_row + group() * C::kGroupRows + warp() * 16 + lane() / 4;
    float y[C::kWidth / 2], s[C::kKeys / 2], shrink[2];
    uint32_t weights[C::kKeys / 16][4];
    Eight bias[C::kKeyBlocks][2];
    RowState state;
#pragma unroll
    for (float& value : y) value = 0;
    if (seen.begin >= seen.end) {
      pass(item.num_tiles, stages);
      return store(y, state, item, queries);
    }
    int first_key = item.first_key;
    if (p_.bias != nullptr) load_bias(bias, item, first_key);
    start_scores(s, queries, stages);
    wait_for_products<0>();
    pin(s);
    release(&shared_.keys_empty[stages.slot()]);
    weigh_scores(s, state, shrink, bias, item, first_key, stages.slot());
    keep_weights(weights, s);
    await_values(y, item, first_key, stages);
    ++stages.count;
#pragma unroll 1
    for (int j = 1; j < item.num_tiles; ++j, ++stages.count) {
      first_key += C::kKeys;
      if (C::kBiasAhead && p_.bias != nullptr) load_bias(bias, item, first_key);
      if constexpr (C::kOverlaps) {
        start_scores(s, queries, stages);
        add_values(y, weights, stages.slot_before());
        wait_for_products<1>();
      } else {
        add_values(y, weights, stages.slot_before());
        start_scores(s, queries, stages);
        wait_for_products<0>();
        pin(y);
        release(&shared_.values_empty[stages.slot_before()]);
      }
      pin(s);
      release(&shared_.keys_empty[stages.slot()]);
      if (!C::kBiasAhead && p_.bias != nullptr) load_bias(bias, item, first_key);
      weigh_scores(s, state, shrink, bias, item, first_key, stages.slot());
      if constexpr (C::kOverlaps) {
        wait_for_products<0>();
        pin(y);
        release(&shared_.values_empty[stages.slot_before()]);
      }
      shrink_results(y, shrink);
      keep_weights(weights, s);
      await_values(y, item, first_key, stages);
    }
    add_values(y, weights, stages.slot_before());
    wait_for_products<0>();
    pin(y);
    release(&shared_.values_empty[stages.slot_before()]);
    store(y, state, item, queries);
  }

  // Tiles that none of the warpgroup's queries sees.
  __device__ __forceinline__ void pass(int num_tiles, Turn<C::kStages>& stages) {
#pragma unroll 1
    for (int j = 0; j < num_tiles; ++j, ++stages.count) {
      wait_barrier(&shared_.keys_full[stages.slot()], stages.phase());
      release(&shared_.keys_empty[stages.slot()]);
      wait_barrier(&shared_.values_full[stages.slot()], stages.phase());
      release(&shared_.values_empty[stages.slot()]);
    }
  }

  // s = q k^T, queued.
  __device__ __forceinline__ void start_scores(float (&s)[C::kKeys / 2], const std::byte* queries,
                                               const Turn<C::kStages>& stages) {
    wait_barrier(&shared_.keys_full[stages.slot()], stages.phase());
    const uint64_t rows = panels_in_shared<C::kRowBytes>(shared_address(queries), 0);
    const uint64_t keys = panels_in_shared<C::kRowBytes>(shared_address(shared_.stages[stages.slot()].keys), 0);
    fence_products();
#pragma unroll
    for (int k = 0; k < C::kSteps; ++k)
      multiply_rows<T>(s, rows + C::template step<C::kGroupRows>(k), keys + C::template step<C::kKeys>(k), k > 0);
    commit_products();
  }

  // y += weights v, queued.
  __device__ __forceinline__ void add_values(float (&y)[C::kWidth / 2], const uint32_t (&weights)[C::kKeys / 16][4],
                                             int slot) {
    const uint64_t values =
        panels_in_shared<C::kRowBytes>(shared_address(shared_.stages[slot].values), C::kKeys * C::kRowBytes);
    fence_products();
#pragma unroll
    for (int k = 0; k < C::kKeys / 16; ++k) multiply_columns<T>(y, weights[k], values + k * C::kRowBytes, true);
    commit_products();
  }

  // Scores become weights, which are summed; sums shrink to what the largest scores now ask for.
  __device__ __forceinline__ void weigh_scores(float (&s)[C::kKeys / 2], RowState& state, float (&shrink)[2],
                                               const Eight (&bias)[C::kKeyBlocks][2], const WgmmaItem<C>& item,
                                               int first_key, int slot) const {
    auto& scores = reinterpret_cast<Scores&>(s);
    apply_terms(scores, bias, item, first_key, shared_.terms[slot]);
    const bool scaled = p_.bias != nullptr || shape_.mask != MaskKind::kNone;
    weigh(scores, state, scaled ? kLog2E : kLog2E * shape_.scale, shrink);
#pragma unroll
    for (int c = 0; c < 4; ++c) state.sums[c] *= shrink[c / 2];
#pragma unroll
    for (int n = 0; n < C::kKeyTiles; ++n)
#pragma unroll
      for (int c = 0; c < 4; ++c) state.sums[c] += scores[n][c];
  }

  __device__ __forceinline__ static void shrink_results(float (&y)[C::kWidth / 2], const float (&shrink)[2]) {
    if (!__any_sync(~0u, shrink[0] != 1.0f || shrink[1] != 1.0f)) return;
#pragma unroll
    for (int c = 0; c < 4; ++c)
#pragma unroll
      for (int n = 0; n < C::kWidth / 8; ++n) y[4 * n + c] *= shrink[c / 2];
  }

  __device__ __forceinline__ static void keep_weights(uint32_t (&weights)[C::kKeys / 16][4],
                                                      const float (&s)[C::kKeys / 2]) {
#pragma unroll
    for (int k = 0; k < C::kKeys / 16; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int first = 8 * k + i / 2 * 4 + i % 2 * 2;
        weights[k][i] = pack(T{}, s[first], s[first + 1]);
      }
  }

  // Until the values of a tile are there; those that are not finite are added at once.
  __device__ __forceinline__ void await_values(float (&y)[C::kWidth / 2], const WgmmaItem<C>& item, int first_key,
                                               const Turn<C::kStages>& stages) const {
    wait_barrier(&shared_.values_full[stages.slot()], stages.phase());
    if (narrows() && *reinterpret_cast<const uint32_t*>(shared_.terms[stages.slot()].lacks) != 0)
      add_lacking(y, item, first_key);
  }

  __device__ bool narrows() const { return shape_.causal || p_.segments != nullptr; }

  // The keys that a lane's rows see.
  __device__ __forceinline__ int2 sees(const WgmmaItem<C>& item, int h) const {
    if (!narrows()) return {0, static_cast<int>(shape_.keys)};
    return item.rows[row_ - item.first_row + 8 * h];
  }

  __device__ __forceinline__ int64_t row(int h) const { return min(row_ + 8 * h, static_cast<int>(shape_.rows) - 1); }

  __device__ __forceinline__ void load_bias(Eight (&bias)[C::kKeyBlocks][2], const WgmmaItem<C>& item,
                                            int first_key) const {
    const int key = first_key + lane() % 4 * 8, keys = static_cast<int>(shape_.keys);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const T* from = static_cast<const T*>(p_.bias) + item.at[kBias] + row(h) * shape_.row[kBias] + key;
#pragma unroll
      for (int b = 0; b < C::kKeyBlocks; ++b) {
        bias[b][h] = {};
        if (key + b * kWarp < keys) bias[b][h] = *reinterpret_cast<const Eight*>(from + b * kWarp);
      }
    }
  }

  __device__ __forceinline__ void apply_terms(Scores& s, const Eight (&bias)[C::kKeyBlocks][2],
                                              const WgmmaItem<C>& item, int first_key,
                                              const typename WgmmaShared<C>::Terms& terms) const {
    if (p_.bias != nullptr) {
#pragma unroll
      for (int b = 0; b < C::kKeyBlocks; ++b)
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const float2 terms = widen_pair(T{}, pair_of(bias[b][h], i));
            s[4 * b + i][2 * h] = fmaf(s[4 * b + i][2 * h], shape_.scale, terms.x);
            s[4 * b + i][2 * h + 1] = fmaf(s[4 * b + i][2 * h + 1], shape_.scale, terms.y);
          }
    } else if (shape_.mask != MaskKind::kNone) {
#pragma unroll
      for (int n = 0; n < C::kKeyTiles; ++n)
#pragma unroll
        for (float& score : s[n]) score *= shape_.scale;
    }
    if (shape_.mask == MaskKind::kBool && shape_.row[kMask] != 0) [[unlikely]]
      mask_by_row(s, item, first_key);
    else if (shape_.mask != MaskKind::kNone && terms.masks)
      mask_by_key(s, terms);
    const typename WgmmaItem<C>::Keys seen = item.keys[group()];
    if (first_key < seen.all_begin || first_key + C::kKeys > seen.all_end) [[unlikely]]
      hide(s, item, first_key);
  }

  __device__ __forceinline__ void mask_by_key(Scores& s, const typename WgmmaShared<C>::Terms& terms) const {
#pragma unroll
    for (int b = 0; b < C::kKeyBlocks; ++b)
      if (shape_.mask == MaskKind::kBool) {
        const uint32_t bits = terms.seen[b] >> lane() % 4 * 8;
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int e = 0; e < 8; ++e)
            if ((bits >> e & 1) == 0) score_of(s, b, h, e) = shape_.fill;
      } else {
        const float* added = &terms.added[b * kWarp + lane() % 4 * 8];
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int e = 0; e < 8; ++e) score_of(s, b, h, e) += added[e];
      }
  }

  __device__ __forceinline__ void mask_by_row(Scores& s, const WgmmaItem<C>& item, int first_key) const {
    const int keys = static_cast<int>(shape_.keys);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const bool* mask = static_cast<const bool*>(p_.mask) + item.at[kMask] + row(h) * shape_.row[kMask];
#pragma unroll
      for (int b = 0; b < C::kKeyBlocks; ++b) {
        const int key = first_key + b * kWarp + lane() % 4 * 8;
        const uint2 sees = key < keys ? *reinterpret_cast<const uint2*>(mask + key) : uint2{~0u, ~0u};
#pragma unroll
        for (int e = 0; e < 8; ++e)
          if (((e < 4 ? sees.x : sees.y) >> e % 4 * 8 & 0xff) == 0) score_of(s, b, h, e) = shape_.fill;
      }
    }
  }

  __device__ __forceinline__ void hide(Scores& s, const WgmmaItem<C>& item, int first_key) const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int2 keys = sees(item, h);
      const int before = keys.x - first_key - lane() % 4 * 8, end = keys.y - first_key - lane() % 4 * 8;
#pragma unroll
      for (int b = 0; b < C::kKeyBlocks; ++b)
#pragma unroll
        for (int e = 0; e < 8; ++e)
          if (b * kWarp + e < before || b * kWarp + e >= end) score_of(s, b, h, e) = -INFINITY;
    }
  }

  // Values that are not finite, for the queries that see them.
  __device__ __forceinline__ void add_lacking(float (&y)[C::kWidth / 2], const WgmmaItem<C>& item,
                                              int first_key) const {
    const T* v = static_cast<const T*>(p_.v) + item.at[kV];
    const int2 keys[2] = {sees(item, 0), sees(item, 1)};
#pragma unroll 1
    for (int key = max(first_key, min(keys[0].x, keys[1].x));
         key < min(min(first_key + C::kKeys, static_cast<int>(shape_.keys)), max(keys[0].y, keys[1].y)); ++key) {
#pragma unroll
      for (int n = 0; n < C::kWidth / 8; ++n) {
        const int column = n * 8 + lane() % 4 * 2;
        const uint32_t pair =
            column < shape_.value_width ? *reinterpret_cast<const uint32_t*>(v + key * shape_.row[kV] + column) : 0;
        const float2 values = widen_pair(T{}, pair);
        const float low = isfinite(values.x) ? 0.0f : values.x, high = isfinite(values.y) ? 0.0f : values.y;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const bool sees_it = key >= keys[h].x && key < keys[h].y;
          y[4 * n + 2 * h] += sees_it ? low : 0.0f;
          y[4 * n + 2 * h + 1] += sees_it ? high : 0.0f;
        }
      }
    }
  }

  // Results go to where the queries were, and from there to their place.
  __device__ __forceinline__ void store(const float (&y)[C::kWidth / 2], const RowState& state,
                                        const WgmmaItem<C>& item, std::byte* results) const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float sum = state.sums[2 * h] + state.sums[2 * h + 1];
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      const int2 keys = sees(item, h);
      const Normal normal(shape_, state.max[h], sum, keys.x >= keys.y);
      const T* gate = static_cast<const T*>(p_.gate) + item.at[kGate] + row(h) * shape_.row[kGate];
#pragma unroll
      for (int n = 0; n < C::kWidth / 8; ++n) {
        float low = normal(y[4 * n + 2 * h]), high = normal(y[4 * n + 2 * h + 1]);
        const int column = n * 8 + lane() % 4 * 2;
        if (p_.gate != nullptr && column < shape_.value_width) {
          const float2 gates = widen_pair(T{}, *reinterpret_cast<const uint32_t*>(gate + column));
          low *= sigmoid(gates.x);
          high *= sigmoid(gates.y);
        }
        *reinterpret_cast<uint32_t*>(results + C::template place<C::kGroupRows>(warp() * 16 + lane() / 4 + 8 * h, n) +
                                     lane() % 4 * 4) = pack(T{}, low, high);
      }
    }
    __syncwarp();
    T* to = static_cast<T*>(p_.y) + item.at[kY];
#pragma unroll
    for (int i = lane(); i < 16 * C::kUnits; i += kWarp) {
      const int unit = i % C::kUnits, down = i / C::kUnits, at = row_ - lane() / 4 + down;
      if (at < shape_.rows && unit * 8 < shape_.value_width)
        *reinterpret_cast<uint4*>(to + at * shape_.row[kY] + unit * 8) =
            *reinterpret_cast<const uint4*>(results + C::template place<C::kGroupRows>(warp() * 16 + down, unit));
    }
  }

  const Shape& shape_;
  const Pointers& p_;
  WgmmaShared<C>& shared_;
  int row_ = 0;  // a lane's first; the other is 8 on
};

// Flash attention (Dao and others 2022; Shah and others 2024). A warpgroup takes 64 queries of a head, a lane 2 of its rows; scores and
// results stay in registers, keys and values come through a ring in shared memory (WgmmaShared) that one more warpgroup fills.
// Blocks stay and take item after item.
template <class C>
__global__ void __launch_bounds__(C::kThreads, C::kBlocks)
    wgmma(const __grid_constant__ Shape shape, const __grid_constant__ Pointers p,
          const __grid_constant__ WgmmaLaunch launch) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) std::byte memory[];
  auto& shared = *reinterpret_cast<WgmmaShared<C>*>(memory + (1024 - shared_address(memory) % 1024) % 1024);
  if (threadIdx.x == 0) shared.init_barriers();
  check_segments(shape, p);
  __syncthreads();
  if (threadIdx.x >= C::kConsumers) {
    release_registers<C::kBringerRegisters>();
    Bringer<C>(shape, p, launch, shared).run();
  } else {
    take_registers<C::kConsumerRegisters>();
    Attender<C>(shape, p, shared).run();
  }
#endif
}

template <class C>
void launch_wgmma(const Shape& shape, const Pointers& p, const KernelArgs& args) {
  constexpr unsigned kChunk = 4;
  const auto query_tiles = static_cast<unsigned>(ceil_div(shape.rows, C::kGroups * C::kGroupRows));
  const auto sharing = static_cast<unsigned>(shape.sharing);
  const unsigned chunk = p.bias == nullptr ? 1 : std::min(kChunk, sharing);
  const auto chunks = static_cast<unsigned>(ceil_div(sharing, chunk));
  const auto items = static_cast<unsigned>(shape.heads.count / sharing * chunks * chunk * query_tiles);
  const WgmmaLaunch launch{items, query_tiles, chunk, chunks, Divider(query_tiles), Divider(chunk), Divider(chunks)};
  const size_t bytes = sizeof(WgmmaShared<C>) + 1024;
  const unsigned blocks = std::min(items, static_cast<unsigned>(num_multiprocessors() * C::kBlocks));
  cudaFuncSetAttribute(wgmma<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  wgmma<C><<<blocks, C::kThreads, bytes, stream_of(args)>>>(shape, p, launch);
}

// The smallest width that holds q, k and v; the tiles that were fastest on an H200 for so many queries.
template <class T>
void launch_wgmma_of(const Shape& shape, const Pointers& p, const KernelArgs& args) {
  const int64_t width = std::max(shape.width, shape.value_width), tiles = ceil_div(shape.rows, 64);
  if (width > 64) return launch_wgmma<Groups<T, 128, 64, 2, 1, true>>(shape, p, args);
  if (width > 32) {
    const auto waves = [&](int64_t groups) {
      return ceil_div(shape.heads.count * ceil_div(tiles, groups), num_multiprocessors()) * groups;
    };
    if (waves(3) < waves(2)) return launch_wgmma<Groups<T, 64, 64, 3, 1, true>>(shape, p, args);
    return launch_wgmma<Groups<T, 64, 128, 2, 1, true>>(shape, p, args);
  }
  if (tiles <= 2) return launch_wgmma<Groups<T, 32, 64, 1, 3, false>>(shape, p, args);
  if (ceil_div(tiles, 3) * 3 < ceil_div(tiles, 4) * 4)
    return launch_wgmma<Groups<T, 32, 64, 3, 1, true>>(shape, p, args);
  launch_wgmma<Groups<T, 32, 64, 4, 1, false>>(shape, p, args);
}

}  // namespace plica::cuda::attention
