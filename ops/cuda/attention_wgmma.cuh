// Long because the kernel's steps, which share their registers, stand together.
#pragma once

#include <algorithm>

#include "ops/cuda/attention_fragments.cuh"
#include "ops/cuda/attention_lacking.cuh"
#include "ops/cuda/attention_weigh.cuh"
#include "ops/cuda/attention_wgmma_bring.cuh"
#include "ops/cuda/early_launch.cuh"

// The kernel `wgmma`: attention on Hopper's tensor cores, bf16 and fp16.
namespace plica::cuda::attention {

// A warpgroup and its 64 queries. A lane has a share of a tile of scores: of rows g and g + 8, columns 8 n + 2 t and 8 n + 2 t + 1.
template <class C>
class Attender {
 public:
  using T = typename C::T;

  __device__ Attender(const Shape& shape, const Pointers& p, const WgmmaMaps& maps, WgmmaShared<C>& shared)
      : shape_(shape),
        p_(p),
        maps_(maps),
        shared_(shared),
        group_(__shfl_sync(~0u, static_cast<int>(threadIdx.x) / C::kGroupThreads, 0)),
        keys_(low(shared.stages[0].keys, 0) + head_bytes() / 16),
        values_(low(shared.stages[0].values, C::kKeys * C::kRowBytes) + head_bytes() / 16),
        ones_(shared_address(shared.ones) >> 4 | 8 << 16) {}

  __device__ __forceinline__ void run() {
    Turn<C::kStages> stages;
#pragma unroll 1
    for (Turn<C::kItems> items;; ++items) {
      wait_barrier(&shared_.item_full[items.slot], items.phase);
      const WgmmaItem<C>& item = shared_.items[items.slot];
      if (item.first_row < 0) return;
      if (__any_sync(~0u, attend(item, items.slot, stages))) [[unlikely]]
        spoil_results(item);
      fence_shared_for_products();
      arrive(&shared_.item_empty[items.slot]);
    }
  }

 private:
  using Scores = float[C::kKeyTiles][4];

  // A warpgroup's head and rows of an item.
  __device__ int group() const { return group_; }
  __device__ int head() const { return C::kHeads == 1 ? 0 : group() % C::kHeads; }
  __device__ int rows() const { return group() / C::kHeads; }
  __device__ static int warp() { return threadIdx.x % C::kGroupThreads / kWarp; }
  __device__ static int lane() { return threadIdx.x % kWarp; }
  __device__ int lane_row() const { return rows() * C::kGroupRows + warp() * 16 + lane() / 4; }

  // Descriptors, in halves: the high ones are known.
  static constexpr uint32_t kRowsHigh = panels_in_shared<C::kRowBytes>(0, 0) >> 32, kValuesHigh = kRowsHigh,
                            kOnesHigh = 8;
  __device__ static uint32_t low(const std::byte* panels, int panel_bytes) {
    return static_cast<uint32_t>(panels_in_shared<C::kRowBytes>(shared_address(panels), panel_bytes));
  }
  __device__ static uint64_t at(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }

  __device__ void release_keys(int slot) const { release(&shared_.keys_empty[slot], masks_keys(shape_)); }
  __device__ void release_values(int slot) const { release(&shared_.values_empty[slot], narrows()); }
  __device__ static void release(uint64_t* barrier, bool by_lane) {
    __syncwarp();
    if (by_lane || lane() == 0) arrive(barrier);
  }

  __device__ int64_t at(const WgmmaItem<C>& item, Operand operand) const {
    return item.at[operand] + (C::kHeads == 1 ? 0 : head() * maps_.next_head[operand]);
  }

  // Whether some of a lane's rows are zeros because their weights were NaN.
  __device__ __forceinline__ bool attend(const WgmmaItem<C>& item, int slot, Turn<C::kStages>& stages) {
    const typename WgmmaItem<C>::Keys seen = keys_of(item);
    row_ = item.first_row + lane_row();
    queries_ = low(shared_.queries[slot], 0) + (rows() * C::kGroupRows * C::kRowBytes + head_bytes()) / 16;
    float y[C::kWidth / 2], s[C::kKeys / 2], shrink[2];
    uint32_t weights[C::kKeys / 16][4];
    float sums[4] = {};
    Origins state;
#pragma unroll
    for (float& value : y) value = 0;
    if (seen.begin >= seen.end || item.first_row + rows() * C::kGroupRows >= shape_.rows) {
      pass(item.num_tiles, stages);
      return store(y, sums, item, slot);
    }
    int first_key = C::kNarrows ? item.first_key : 0;
    start_scores(s, stages);
    wait_for_products<0>();
    pin(s);
    weigh_scores(s, sums, state, shrink, item, first_key, stages.slot);
    keep_weights(weights, s);
    await_values(y, item, first_key, stages);
    ++stages;
#pragma unroll 1
    for (int j = 1; j < item.num_tiles; ++j, ++stages) {
      first_key += C::kKeys;
      if constexpr (C::kOverlaps) {
        start_scores(s, stages);
        add_values(y, sums, weights, stages.before());
        wait_for_products<1>();
      } else {
        add_values(y, sums, weights, stages.before());
        start_scores(s, stages);
        wait_for_products<0>();
        pin(y), pin(sums);
        release_values(stages.before());
      }
      pin(s);
      const bool shrinks = weigh_scores(s, sums, state, shrink, item, first_key, stages.slot);
      if constexpr (C::kOverlaps) {
        wait_for_products<0>();
        pin(y), pin(sums);
        release_values(stages.before());
      }
      if (shrinks) [[unlikely]]
        shrink_results(y, sums, shrink);
      keep_weights(weights, s);
      await_values(y, item, first_key, stages);
    }
    add_values(y, sums, weights, stages.before());
    wait_for_products<0>();
    pin(y), pin(sums);
    release_values(stages.before());
    return store(y, sums, item, slot);
  }

  // Tiles that none of the warpgroup's queries sees.
  __device__ __forceinline__ void pass(int num_tiles, Turn<C::kStages>& stages) {
#pragma unroll 1
    for (int j = 0; j < num_tiles; ++j, ++stages) {
      wait_barrier(&shared_.keys_full[stages.slot], stages.phase);
      release_keys(stages.slot);
      wait_barrier(&shared_.values_full[stages.slot], stages.phase);
      release_values(stages.slot);
    }
  }

  // Where this warpgroup's head begins in a panel.
  __device__ uint32_t head_bytes() const { return C::kHeads == 1 ? 0 : head() * C::kHeadBytes; }

  // s = q k^T, queued.
  __device__ __forceinline__ void start_scores(float (&s)[C::kKeys / 2], const Turn<C::kStages>& stages) {
    wait_barrier(&shared_.keys_full[stages.slot], stages.phase);
    const uint32_t rows = queries_;
    const uint32_t keys = keys_ + stages.slot * static_cast<uint32_t>(sizeof(shared_.stages[0]) / 16);
    fence_products();
#pragma unroll
    for (int k = 0; k < C::kSteps; ++k) {
      const uint64_t of_rows = at(kRowsHigh, rows + C::template step<C::kRows>(k));
      const uint64_t of_keys = at(kRowsHigh, keys + C::template step<C::kKeys>(k));
      if constexpr (C::kKeys == 144)
        multiply_rows<T>(s, of_rows, of_keys, k > 0, C::kKeys / 2 * C::kRowBytes / 16);
      else
        multiply_rows<T>(s, of_rows, of_keys, k > 0);
    }
    commit_products();
  }

  // y += weights v, queued.
  __device__ __forceinline__ void add_values(float (&y)[C::kWidth / 2], float (&sums)[4],
                                             const uint32_t (&weights)[C::kKeys / 16][4], int slot) {
    const uint32_t values = values_ + slot * static_cast<uint32_t>(sizeof(shared_.stages[0]) / 16);
    fence_products();
#pragma unroll
    for (int k = 0; k < C::kKeys / 16; ++k) {
      multiply_columns<T>(y, weights[k], at(kValuesHigh, values + k * C::kRowBytes), true);
      if constexpr (C::kSumsByProduct) add_rows<T>(sums, weights[k], at(kOnesHigh, ones_));
    }
    commit_products();
  }

  // Scores become weights; whether what was summed so far is to shrink. The tile of keys is free then.
  __device__ __forceinline__ bool weigh_scores(float (&s)[C::kKeys / 2], float (&sums)[4], Origins& state,
                                               float (&shrink)[2], const WgmmaItem<C>& item, int first_key,
                                               int slot) const {
    auto& scores = reinterpret_cast<Scores&>(s);
    float scale = shape_.scale;
    if (C::has_bias(p_)) {
      add_bias(scores, shared_.stages[slot].bias);
      scale = 1;
    }
    if (shape_.mask != MaskKind::kNone) [[unlikely]]
      mask(scores, scale, item, first_key, shared_.terms[slot]);
    release_keys(slot);
    const typename WgmmaItem<C>::Keys seen = keys_of(item);
    if (first_key < seen.all_begin || first_key + C::kKeys > seen.all_end) [[unlikely]]
      hide(scores, item, first_key);
    const bool shrinks = weigh(scores, state, scale, shrink);
    if constexpr (!C::kSumsByProduct) {
      if (shrinks)
#pragma unroll
        for (int c = 0; c < 4; ++c) sums[c] *= shrink[c / 2];
#pragma unroll
      for (int n = 0; n < C::kKeyTiles; ++n)
#pragma unroll
        for (int c = 0; c < 4; ++c) sums[c] += scores[n][c];
    }
    return shrinks;
  }

  __device__ __forceinline__ static void shrink_results(float (&y)[C::kWidth / 2], float (&sums)[4],
                                                        const float (&shrink)[2]) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      if (C::kSumsByProduct) sums[c] *= shrink[c / 2];
#pragma unroll
      for (int n = 0; n < C::kWidth / 8; ++n) y[4 * n + c] *= shrink[c / 2];
    }
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
    wait_barrier(&shared_.values_full[stages.slot], stages.phase);
    if (narrows() && shared_.terms[stages.slot].lacks) [[unlikely]]
      add_lacking(y, item, first_key);
  }

  __device__ bool narrows() const { return C::narrows(shape_, p_); }

  // The keys that the warpgroup's queries see.
  __device__ __forceinline__ typename WgmmaItem<C>::Keys keys_of(const WgmmaItem<C>& item) const {
    if constexpr (C::kNarrows) return item.keys[rows()];
    const int keys = static_cast<int>(shape_.keys);
    return {0, keys, 0, keys};
  }

  // The keys that a lane's rows see.
  __device__ __forceinline__ int2 sees(const WgmmaItem<C>& item, int h) const {
    if (!narrows()) return {0, static_cast<int>(shape_.keys)};
    return item.rows[row_ - item.first_row + 8 * h];
  }

  __device__ __forceinline__ int64_t row(int h) const { return min(row_ + 8 * h, static_cast<int>(shape_.rows) - 1); }

  // s = scale s + bias.
  __device__ __forceinline__ void add_bias(Scores& s, const std::byte* tile) const {
    const int down = rows() * C::kGroupRows + warp() * 16 + lane() % 16;
#pragma unroll
    for (int i = 0; i < C::kKeys / 16; ++i) {
      uint32_t bias[4];
      constexpr int kSteps = C::kBiasRowBytes / 32;  // of a panel
      load_matrices<false>(bias, tile + i / kSteps * C::kBiasPanelBytes +
                                     swizzled<C::kBiasRowBytes>(down, i % kSteps * 2 + lane() / 16));
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const float2 terms = widen_pair(T{}, bias[c]);
        float(&pair)[4] = s[2 * i + c / 2];
        pair[c % 2 * 2] = fmaf(pair[c % 2 * 2], shape_.scale, terms.x);
        pair[c % 2 * 2 + 1] = fmaf(pair[c % 2 * 2 + 1], shape_.scale, terms.y);
      }
    }
  }

  // Applies the mask to scores that are still to be scaled; those that it changes it scales.
  __device__ __forceinline__ void mask(Scores& s, float& scale, const WgmmaItem<C>& item, int first_key,
                                       const typename WgmmaShared<C>::Terms& terms) const {
    const bool by_row = C::kNarrows && shape_.row[kMask] != 0;
    if (!by_row && !terms.masks) return;
#pragma unroll
    for (int n = 0; n < C::kKeyTiles; ++n)
#pragma unroll
      for (float& score : s[n]) score *= scale;
    scale = 1;
    if (by_row)
      mask_by_row(s, item, first_key);
    else
      mask_by_key(s, terms);
  }

  __device__ __forceinline__ void mask_by_key(Scores& s, const typename WgmmaShared<C>::Terms& terms) const {
#pragma unroll
    for (int n = 0; n < C::kKeyTiles; ++n)
      if (shape_.mask == MaskKind::kBool) {
        const uint32_t bits = terms.seen[n / 4] >> (n % 4 * 8 + lane() % 4 * 2);
#pragma unroll
        for (int c = 0; c < 4; ++c)
          if ((bits >> c % 2 & 1) == 0) s[n][c] = shape_.fill;
      } else {
        const float2 added = *reinterpret_cast<const float2*>(&terms.added[n * 8 + lane() % 4 * 2]);
#pragma unroll
        for (int c = 0; c < 4; ++c) s[n][c] += c % 2 == 0 ? added.x : added.y;
      }
  }

  __device__ __forceinline__ void mask_by_row(Scores& s, const WgmmaItem<C>& item, int first_key) const {
    const int keys = static_cast<int>(shape_.keys);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const bool* mask = static_cast<const bool*>(p_.mask) + at(item, kMask) + row(h) * shape_.row[kMask];
#pragma unroll
      for (int n = 0; n < C::kKeyTiles; ++n) {
        const int key = first_key + n * 8 + lane() % 4 * 2;
        const uint32_t sees = key < keys ? *reinterpret_cast<const uint16_t*>(mask + key) : ~0u;
        if ((sees & 0xff) == 0) s[n][2 * h] = shape_.fill;
        if ((sees & 0xff00) == 0) s[n][2 * h + 1] = shape_.fill;
      }
    }
  }

  // Keys that a lane's rows do not see.
  __device__ __forceinline__ void hide(Scores& s, const WgmmaItem<C>& item, int first_key) const {
    if constexpr (C::kNarrows) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int2 keys = sees(item, h);
        const int before = keys.x - first_key - lane() % 4 * 2, end = keys.y - first_key - lane() % 4 * 2;
#pragma unroll
        for (int n = 0; n < C::kKeyTiles; ++n)
#pragma unroll
          for (int e = 0; e < 2; ++e)
            if (n * 8 + e < before || n * 8 + e >= end) s[n][2 * h + e] = -INFINITY;
      }
    } else {
      hide_beyond(s, static_cast<int>(shape_.keys) - first_key);
    }
  }

  // Keys of a tile from `end` on.
  __device__ __forceinline__ static void hide_beyond(Scores& s, int end) {
    end -= lane() % 4 * 2;
#pragma unroll
    for (int n = 0; n < C::kKeyTiles; ++n)
#pragma unroll
      for (int c = 0; c < 4; ++c)
        if (n * 8 + c % 2 >= end) s[n][c] = -INFINITY;
  }

  // Values that are not finite, for the queries that see them.
  __device__ __forceinline__ void add_lacking(float (&y)[C::kWidth / 2], const WgmmaItem<C>& item,
                                              int first_key) const {
    const T* v = static_cast<const T*>(p_.v) + at(item, kV);
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
  __device__ __forceinline__ bool store(const float (&y)[C::kWidth / 2], const float (&sums)[4],
                                        const WgmmaItem<C>& item, int slot) const {
    const Normal normal[2] = {normal_of(0, sums, item), normal_of(1, sums, item)};
    std::byte* results = shared_.queries[slot];
    const int first = rows() * C::kGroupRows + warp() * 16;
#pragma unroll
    for (int i = 0; i < C::kWidth / 16; ++i) {
      const int place = C::template place<C::kRows>(first + lane() % 16, head(), 2 * i + lane() / 16);
      uint32_t pairs[4], gates[4];
      if (p_.gate != nullptr) load_matrices<false>(gates, shared_.gates[slot] + place);
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int at = 8 * i + c / 2 * 4 + c % 2 * 2;
        float low = normal[c % 2](y[at]), high = normal[c % 2](y[at + 1]);
        if (p_.gate != nullptr) {
          const float2 factors = widen_pair(T{}, gates[c]);
          low *= sigmoid(factors.x);
          high *= sigmoid(factors.y);
        }
        pairs[c] = pack(T{}, low, high);
      }
      store_matrices(results + place, pairs);
    }
    __syncwarp();
    constexpr int kDown = kWarp / C::kUnits;  // rows at once
    const int unit = lane() % C::kUnits, left = static_cast<int>(shape_.rows) - item.first_row;
    int down = first + lane() / C::kUnits;
    T* to = static_cast<T*>(p_.y) + at(item, kY) + (item.first_row + down) * shape_.row[kY] + unit * 8;
#pragma unroll
    for (int i = 0; i < 16; i += kDown, down += kDown, to += kDown * shape_.row[kY])
      if (down < left && unit * 8 < shape_.value_width)
        *reinterpret_cast<uint4*>(to) =
            *reinterpret_cast<const uint4*>(results + C::template place<C::kRows>(down, head(), unit));
    return normal[0].undefined || normal[1].undefined;
  }

  // The rows of a warp, some of which are zeros where weights were NaN.
  __device__ __forceinline__ void spoil_results(const WgmmaItem<C>& item) const {
    int64_t places[kNumOperands];
    places[kV] = at(item, kV);
    places[kY] = at(item, kY);
    const int first_row = item.first_row + rows() * C::kGroupRows + warp() * 16;
    spoil_zeros<T>(shape_, p_, places, first_row, first_row + 16, lane(), kWarp);
  }

  // What the sums of one of a lane's rows are multiplied by.
  __device__ __forceinline__ Normal normal_of(int h, const float (&sums)[4], const WgmmaItem<C>& item) const {
    float sum = sums[2 * h];
    if constexpr (!C::kSumsByProduct) {
      sum += sums[2 * h + 1];
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
    }
    const int2 keys = sees(item, h);
    return Normal(shape_, sum, keys.x >= keys.y);
  }

  const Shape& shape_;
  const Pointers& p_;
  const WgmmaMaps& maps_;
  WgmmaShared<C>& shared_;
  const int group_;
  const uint32_t keys_, values_;  // low halves of descriptors, of the first stage
  const uint32_t ones_;
  uint32_t queries_ = 0;
  int row_ = 0;  // a lane's first; the other is 8 on
};

// Flash attention (Dao and others 2022; Shah and others 2024). A warpgroup takes 64 queries of a head, a lane 2 of its rows; scores and
// results stay in registers, keys, values and bias come through a ring in shared memory (WgmmaShared) that one more warp fills.
// Blocks stay and take item after item.
template <class C>
__global__ void __launch_bounds__(C::kThreads, C::kBlocks)
    wgmma(const __grid_constant__ Shape shape, const __grid_constant__ Pointers p,
          const __grid_constant__ WgmmaLaunch launch, const __grid_constant__ WgmmaMaps maps) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) std::byte memory[];
  auto& shared = *reinterpret_cast<WgmmaShared<C>*>(memory + (1024 - shared_address(memory) % 1024) % 1024);
  if (threadIdx.x == 0) shared.init_barriers(masks_keys(shape), C::narrows(shape, p));
  if (threadIdx.x < 64) shared.ones[threadIdx.x] = pack(typename C::T{}, 1, 1);
  fence_shared_for_products();
  wait_for_earlier();
  check_segments(shape, p);
  __syncthreads();
  if (threadIdx.x >= C::kConsumers) {
    release_registers<C::kBringerRegisters>();
    if (threadIdx.x < C::kConsumers + kWarp) Bringer<C>(shape, p, launch, maps, shared).run();
  } else {
    take_registers<C::kConsumerRegisters>();
    Attender<C>(shape, p, maps, shared).run();
  }
#endif
}

template <class C>
void launch_wgmma(Shape shape, const Pointers& p, const WgmmaRun& run) {
  static_assert(sizeof(WgmmaShared<C>) + 2048 <= (228 << 10) / C::kBlocks);
  constexpr unsigned kChunk = 4;
  const WgmmaMaps maps = make_maps(shape, p,
                                   {std::is_same_v<typename C::T, BF16>, C::kBiased, C::kHeads, C::kWidth,
                                    C::kRowBytes / 2, C::kBiasRowBytes / 2, C::kRows, C::kKeys},
                                   run.encode);
  const auto query_tiles = static_cast<unsigned>(ceil_div(shape.rows, C::kRows));
  const auto sharing = static_cast<unsigned>(shape.sharing);
  const unsigned chunk = C::kBiased ? std::min(kChunk, sharing) : 1;
  const auto chunks = static_cast<unsigned>(ceil_div(sharing, chunk));
  const auto items = static_cast<unsigned>(shape.heads.count / sharing * chunks * chunk * query_tiles);
  const WgmmaLaunch launch{items, query_tiles, chunk, chunks, Divider(query_tiles), Divider(chunk), Divider(chunks)};
  const size_t bytes = sizeof(WgmmaShared<C>) + 1024;
  const unsigned blocks = std::min(items, static_cast<unsigned>(num_multiprocessors() * C::kBlocks));
  cudaFuncSetAttribute(wgmma<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  launch_early({dim3(blocks), C::kThreads, bytes, run.stream}, wgmma<C>, shape, p, launch, maps);
}

// The smallest width that holds q, k and v; the tiles that were fastest on an H200 for so many queries.
template <class T>
void launch_wgmma_of(const Shape& shape, const Pointers& p, const WgmmaRun& run) {
  const int64_t width = std::max(shape.width, shape.value_width), tiles = ceil_div(shape.rows, 64);
  const bool narrows =
      shape.causal || p.segments != nullptr || (shape.mask == MaskKind::kBool && shape.row[kMask] != 0);
  const bool biased = p.bias != nullptr;
  if (width > 64) {
    if (narrows) return launch_wgmma<Groups<T, 128, 1, 2, 64, 1, true, true, true>>(shape, p, run);
    if (biased) return launch_wgmma<Groups<T, 128, 1, 2, 64, 1, true, true, false>>(shape, p, run);
    return launch_wgmma<Groups<T, 128, 1, 2, 128, 1, true, false, false>>(shape, p, run);
  }
  if (width > 32) {
    if (narrows) return launch_wgmma<Groups<T, 64, 1, 2, 64, 1, true, true, true>>(shape, p, run);
    if (biased) return launch_wgmma<Groups<T, 64, 1, 2, 64, 1, true, true, false>>(shape, p, run);
    return launch_wgmma<Groups<T, 64, 1, 1, 128, 2, true, false, false>>(shape, p, run);
  }
  if (narrows) return launch_wgmma<Groups<T, 32, 1, 2, 64, 2, false, true, true>>(shape, p, run);
  const auto hold = [](int64_t size, int64_t tile) { return ceil_div(size, tile) * tile; };
  if (biased && shape.keys > 256 && hold(shape.keys, 96) < hold(shape.keys, 64) && hold(tiles, 3) <= hold(tiles, 2))
    return launch_wgmma<Groups<T, 32, 1, 3, 96, 1, false, true, false>>(shape, p, run);
  if (biased && tiles > 3 && ceil_div(tiles, 4) * 2 == ceil_div(tiles, 2))
    return launch_wgmma<Groups<T, 32, 1, 4, 64, 1, false, true, false>>(shape, p, run);
  if (biased) return launch_wgmma<Groups<T, 32, 1, 2, 64, 2, false, true, false>>(shape, p, run);
  if (tiles % 2 == 0 && pair_axis(shape, 32, p.gate != nullptr) >= 0)
    return launch_wgmma<Groups<T, 32, 2, 2, 64, 1, false, false, false>>(shape, p, run);
  if (shape.keys > 128 && shape.keys <= 144 && tiles % 3 == 0)
    return launch_wgmma<Groups<T, 32, 1, 3, 144, 1, false, false, false>>(shape, p, run);
  launch_wgmma<Groups<T, 32, 1, 1, 64, 3, false, false, false>>(shape, p, run);
}

}  // namespace plica::cuda::attention
