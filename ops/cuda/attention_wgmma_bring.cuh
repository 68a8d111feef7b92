// Long because all that is brought to shared memory for `wgmma` stands together.
#pragma once

#include "ops/cuda/attention_fragments.cuh"
#include "ops/cuda/attention_wgmma_tiles.cuh"

// What brings the tiles of the kernel `wgmma`.
namespace plica::cuda::attention {

// The warp that brings a block's items, one after the other, ahead of those who compute.
template <class C>
class Bringer {
 public:
  using T = typename C::T;

  __device__ Bringer(const Shape& shape, const Pointers& p, const WgmmaLaunch& launch, const WgmmaMaps& maps,
                     WgmmaShared<C>& shared)
      : shape_(shape), p_(p), launch_(launch), maps_(maps), shared_(shared) {}

  __device__ void run() {
    const unsigned share = launch_.items / gridDim.x, more = launch_.items % gridDim.x;
    const unsigned first = blockIdx.x * share + min(blockIdx.x, more);
    const unsigned end = first + share + (blockIdx.x < more ? 1 : 0);
#pragma unroll 1
    for (unsigned item = first; item < end; ++item) bring(item);
    wait_barrier(&shared_.item_empty[items_.slot], items_.phase ^ 1);
    if (lane() == 0) shared_.items[items_.slot].first_row = -1;
    arrive(&shared_.item_full[items_.slot]);
  }

 private:
  // Values on their way, of which those that are not finite are to be taken out.
  struct Late {
    bool any = false, hides = false;
    Turn<C::kStages> stage;
  };

  __device__ static int lane() { return threadIdx.x % kWarp; }

  // This warp's part of what a barrier waits for, copies of so many bytes aside.
  __device__ __forceinline__ static void fill(uint64_t* barrier, uint32_t bytes, bool by_lane) {
    __syncwarp();
    if (lane() == 0)
      arrive_expecting(barrier, bytes);
    else if (by_lane)
      arrive(barrier);
  }

  __device__ __forceinline__ void bring(unsigned index) {
    const unsigned tile = launch_.by_chunk(index), group = launch_.by_query_tiles(tile);
    const unsigned outer = launch_.by_chunks(group);
    const unsigned inner = (group - outer * launch_.chunks) * launch_.chunk + (index - tile * launch_.chunk);
    if (inner >= shape_.sharing) return;
    const auto first_row = static_cast<int>(tile - group * launch_.query_tiles) * C::kRows;
    place(outer * static_cast<unsigned>(shape_.sharing) + inner);
    wait_barrier(&shared_.item_empty[items_.slot], items_.phase ^ 1);
    WgmmaItem<C>& item = shared_.items[items_.slot];
    if (lane() == 0) {
      bring_rows(shared_.queries[items_.slot], maps_.q, kQ, first_row);
      if (p_.gate != nullptr) bring_rows(shared_.gates[items_.slot], maps_.gate, kGate, first_row);
    }
    if (lane() == 0) item.first_row = first_row;
    if (lane() < kNumOperands) item.at[lane()] = at_;
    find_keys(item, first_row);
    fill(&shared_.item_full[items_.slot], C::kQueryBytes * (p_.gate != nullptr ? 2 : 1), true);
    if (masks_keys(shape_)) read_mask(first_key_);
    bring_tiles(item);
    finish_values();
    ++items_;
  }

  // Where a head is: along the leading axes, and lane i's offset of operand i.
  __device__ void place(uint32_t head) {
    at_ = 0;
    const int operand = min(lane(), kNumOperands - 1);
#pragma unroll
    for (int axis = kMapAxes - 1; axis >= 0; --axis) {
      along_[axis] = 0;
      if (axis >= shape_.heads.rank) continue;
      const uint32_t quotient = axis == 0 ? 0 : shape_.heads.divider[axis](head);
      along_[axis] = static_cast<int>(head - quotient * static_cast<uint32_t>(shape_.heads.size[axis]));
      at_ += along_[axis] * shape_.heads.stride[operand][axis];
      head = quotient;
    }
  }

  __device__ __forceinline__ void copy(void* to, const CUtensorMap& map, Operand operand, int column, int row,
                                       uint64_t* barrier) const {
    int at[5] = {column, row};
#pragma unroll
    for (int axis = 0; axis < kMapAxes; ++axis) at[2 + axis] = maps_.moves[operand] >> axis & 1 ? along_[axis] : 0;
    copy_box(to, map, at, barrier);
  }

  // The first column of an item's heads.
  __device__ __forceinline__ int first_column() const {
    if (C::kHeads == 1) return 0;
    const int along = maps_.head_axis == 0 ? along_[0] : maps_.head_axis == 1 ? along_[1] : along_[2];
    return along * C::kHeads * C::kWidth;
  }

  __device__ __forceinline__ void bring_rows(std::byte* to, const CUtensorMap& map, Operand operand,
                                             int first_row) const {
    uint64_t* full = &shared_.item_full[items_.slot];
#pragma unroll
    for (int panel = 0; panel < C::kPanels; ++panel)
      copy(to + panel * C::kRows * C::kRowBytes, map, operand, first_column() + panel * 64, first_row, full);
  }

  __device__ void find_keys(WgmmaItem<C>& item, int item_row) {
    const int rows = static_cast<int>(shape_.rows), keys = static_cast<int>(shape_.keys);
    int first = INT32_MAX, last = 0;
#pragma unroll 1
    for (int group = 0; group < C::kRowGroups; ++group) {
      typename WgmmaItem<C>::Keys seen{0, keys, 0, keys};
      if (!C::kNarrows) {
        last = keys;
        first = 0;
        break;
      }
      const int first_row = item_row + group * C::kGroupRows;
      if (first_row >= rows)
        seen = {INT32_MAX, 0, 0, 0};
      else if (narrows())
        seen = find_ranges(item.rows + group * C::kGroupRows, first_row);
      first = min(first, seen.begin);
      last = max(last, seen.end);
      if (C::kNarrows && lane() == 0) item.keys[group] = seen;
    }
    first_key_ = first < last ? first / C::kKeys * C::kKeys : 0;
    num_tiles_ = first < last ? (last - first_key_ + C::kKeys - 1) / C::kKeys : 0;
    if (lane() != 0) return;
    item.first_key = first_key_;
    item.num_tiles = num_tiles_;
  }

  __device__ bool narrows() const { return C::narrows(shape_, p_); }

  // What each query of a warpgroup sees, and what any and all of them see.
  __device__ typename WgmmaItem<C>::Keys find_ranges(int2* ranges, int first_row) {
    typename WgmmaItem<C>::Keys seen{INT32_MAX, 0, 0, INT32_MAX};
    for (int i = lane(); i < C::kGroupRows; i += kWarp) {
      const Range range = visible(shape_, p_, min(int64_t{first_row} + i, shape_.rows - 1));
      const int begin = static_cast<int>(range.begin), end = static_cast<int>(range.end);
      ranges[i] = {begin, end};
      if (begin < end) seen.begin = min(seen.begin, begin), seen.end = max(seen.end, end);
      seen.all_begin = max(seen.all_begin, begin);
      seen.all_end = min(seen.all_end, end);
    }
    return {__reduce_min_sync(~0u, seen.begin), __reduce_max_sync(~0u, seen.end),
            __reduce_max_sync(~0u, seen.all_begin), __reduce_min_sync(~0u, seen.all_end)};
  }

  __device__ __forceinline__ void bring_tiles(const WgmmaItem<C>& item) {
    int first_key = first_key_;
    const int num_tiles = num_tiles_;
#pragma unroll 1
    for (int j = 0; j < num_tiles; ++j, first_key += C::kKeys, ++stages_) {
      const int slot = stages_.slot;
      auto& stage = shared_.stages[slot];
      wait_barrier(&shared_.keys_empty[slot], stages_.phase ^ 1);
      if (lane() == 0) {
        uint64_t* full = &shared_.keys_full[slot];
        bring_tile(stage.keys, maps_.k, kK, first_key, full);
        if (C::has_bias(p_)) bring_bias(stage.bias, item.first_row, first_key, full);
      }
      if (masks_keys(shape_)) {
        bring_terms(shared_.terms[slot]);
        read_mask(first_key + C::kKeys);
      }
      fill(&shared_.keys_full[slot], C::kTileBytes + (C::has_bias(p_) ? C::kBiasBytes : 0), masks_keys(shape_));
      wait_barrier(&shared_.values_empty[slot], stages_.phase ^ 1);
      if (lane() == 0) {
        uint64_t* full = narrows() ? &shared_.values_there[slot] : &shared_.values_full[slot];
        arrive_expecting(full, C::kTileBytes);
        bring_tile(stage.values, maps_.v, kV, first_key, full);
      }
      if (!narrows()) continue;
      finish_values();
      late_ = {true, hides(item, first_key), stages_};
    }
  }

  __device__ __forceinline__ void bring_tile(std::byte* tile, const CUtensorMap& map, Operand operand, int first_key,
                                             uint64_t* full) const {
#pragma unroll
    for (int panel = 0; panel < C::kPanels; ++panel)
      copy(tile + panel * C::kKeys * C::kRowBytes, map, operand, first_column() + panel * 64, first_key, full);
  }

  __device__ __forceinline__ void bring_bias(std::byte* tile, int first_row, int first_key, uint64_t* full) const {
#pragma unroll
    for (int panel = 0; panel < C::kBiasPanels; ++panel)
      copy(tile + panel * C::kBiasPanelBytes, maps_.bias, kBias, first_key + panel * (C::kBiasRowBytes / 2), first_row,
           full);
  }

  // The mask of the keys of a tile, on its way while others are at work.
  __device__ __forceinline__ void read_mask(int first_key) {
    const int64_t at = __shfl_sync(~0u, at_, kMask);
#pragma unroll
    for (int i = 0; i < C::kKeyBlocks; ++i) {
      const int key = first_key + i * kWarp + lane();
      const int64_t element = at + key * shape_.step[kMask];
      mask_[i] = shape_.mask == MaskKind::kBool ? 1 : 0;  // of keys beyond the end
      if (key >= shape_.keys) continue;
      mask_[i] = shape_.mask == MaskKind::kBool ? static_cast<const uint8_t*>(p_.mask)[element]
                                                : static_cast<const uint16_t*>(p_.mask)[element];
    }
  }

  __device__ __forceinline__ void bring_terms(typename WgmmaShared<C>::Terms& terms) const {
    bool masks = false;
#pragma unroll
    for (int i = 0; i < C::kKeyBlocks; ++i)
      if (shape_.mask == MaskKind::kBool) {
        const uint32_t seen = __ballot_sync(~0u, mask_[i] != 0);
        masks = masks || seen != ~0u;
        if (lane() == 0) terms.seen[i] = seen;
      } else {
        const float added = widen_pair(T{}, mask_[i]).x;
        masks = masks || added != 0;
        terms.added[i * kWarp + lane()] = added;
      }
    masks = __any_sync(~0u, masks);
    if (lane() == 0) terms.masks = masks;
  }

  // Whether a query of the item does not see all of a tile.
  __device__ bool hides(const WgmmaItem<C>& item, int first_key) const {
    bool hides = false;
    const int end = min(first_key + C::kKeys, static_cast<int>(shape_.keys));
#pragma unroll 1
    for (int group = 0; group < C::kRowGroups; ++group) {
      const typename WgmmaItem<C>::Keys seen = item.keys[group];
      hides = hides || (seen.begin < seen.end && (first_key < seen.all_begin || end > seen.all_end));
    }
    return hides;
  }

  // Hidden values that are not finite become zero: zero weights would spread them to queries that do not see them.
  __device__ void finish_values() {
    if (!late_.any) return;
    late_.any = false;
    const int slot = late_.stage.slot;
    wait_barrier(&shared_.values_there[slot], late_.stage.phase);
    bool lacks = false;
    if (late_.hides) {
#pragma unroll 4
      for (int i = lane(); i < C::kTileBytes / 4; i += kWarp)
        lacks = drop_infinite(reinterpret_cast<uint32_t*>(shared_.stages[slot].values)[i]) || lacks;
      fence_shared_for_products();
    }
    lacks = __any_sync(~0u, lacks);
    if (lane() == 0) shared_.terms[slot].lacks = lacks;
    arrive(&shared_.values_full[slot]);
  }
  __device__ static bool drop_infinite(uint32_t& word) {
    constexpr uint32_t kExponent = std::is_same_v<T, BF16> ? 0x7f80 : 0x7c00;
    uint32_t kept = word;
    if ((kept & kExponent) == kExponent) kept &= 0xffff0000u;
    if ((kept >> 16 & kExponent) == kExponent) kept &= 0xffffu;
    if (kept == word) return false;
    word = kept;
    return true;
  }

  const Shape& shape_;
  const Pointers& p_;
  const WgmmaLaunch& launch_;
  const WgmmaMaps& maps_;
  WgmmaShared<C>& shared_;
  Turn<C::kItems> items_;
  Turn<C::kStages> stages_;
  Late late_;
  int64_t at_ = 0;
  int along_[kMapAxes] = {}, first_key_ = 0, num_tiles_ = 0;
  uint32_t mask_[C::kKeyBlocks] = {};
};

}  // namespace plica::cuda::attention
