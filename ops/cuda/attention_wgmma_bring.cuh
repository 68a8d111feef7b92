// Long because all that is brought to shared memory for `wgmma` stands together.
#pragma once

#include "ops/cuda/attention_wgmma_tiles.cuh"

namespace plica::cuda::attention {

// Arrives when the copies that this thread has begun are there.
__device__ inline void arrive_after_copies(uint64_t* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// The warpgroup that brings a block's items, one after the other, ahead of those who compute. A thread copies one unit of
// every kStep-th row.
template <class C>
class Bringer {
 public:
  using T = typename C::T;

  __device__ Bringer(const Shape& shape, const Pointers& p, const WgmmaLaunch& launch, WgmmaShared<C>& shared)
      : shape_(shape), p_(p), launch_(launch), shared_(shared) {}

  __device__ void run() {
    const unsigned share = launch_.items / gridDim.x, more = launch_.items % gridDim.x;
    const unsigned first = blockIdx.x * share + min(blockIdx.x, more);
    const unsigned end = first + share + (blockIdx.x < more ? 1 : 0);
#pragma unroll 1
    for (unsigned item = first; item < end; ++item) bring(item);
    wait_barrier(&shared_.item_empty[items_.slot()], items_.phase() ^ 1);
    arrive(&shared_.item_full[items_.slot()]);
    if (thread() != 0) return;
    shared_.items[items_.slot()].first_row = -1;
    arrive(&shared_.item_full[items_.slot()]);
  }

 private:
  static constexpr int kGroupThreads = C::kGroupThreads, kStep = kGroupThreads / C::kUnits;
  static constexpr int kCopies = C::kKeys / kStep;  // of a tile, a thread

  __device__ static int lane() { return threadIdx.x % kWarp; }
  __device__ static int thread() { return threadIdx.x - C::kConsumers; }
  __device__ static int unit() { return thread() % C::kUnits; }
  __device__ static int row() { return thread() / C::kUnits; }
  __device__ static void sync() { asm volatile("bar.sync 1, %0;" ::"n"(kGroupThreads) : "memory"); }

  __device__ __forceinline__ void bring(unsigned index) {
    const unsigned tile = launch_.by_chunk(index), group = launch_.by_query_tiles(tile);
    const unsigned outer = launch_.by_chunks(group);
    const unsigned inner = (group - outer * launch_.chunks) * launch_.chunk + (index - tile * launch_.chunk);
    if (inner >= shape_.sharing) return;
    wait_barrier(&shared_.item_empty[items_.slot()], items_.phase() ^ 1);
    WgmmaItem<C>& item = shared_.items[items_.slot()];
    if (thread() < kWarp) {
      const auto first_row = static_cast<int>(tile - group * launch_.query_tiles) * C::kGroups * C::kGroupRows;
      if (lane() == 0) item.first_row = first_row;
      if (lane() < kNumOperands) item.at[lane()] = offset(outer * shape_.sharing + inner, lane());
      find_keys(item, first_row);
    }
    sync();
    bring_queries(item);
    arrive_after_copies(&shared_.item_full[items_.slot()]);
    if (thread() == 0) arrive(&shared_.item_full[items_.slot()]);
    bring_tiles(item);
    ++items_.count;
  }

  // Where an operand has a head.
  __device__ int64_t offset(int64_t head, int operand) const {
    int64_t at = 0;
#pragma unroll 1
    for (int axis = shape_.heads.rank - 1; axis > 0; --axis) {
      const int64_t quotient = shape_.heads.divider[axis](static_cast<uint32_t>(head));
      at += (head - quotient * shape_.heads.size[axis]) * shape_.heads.stride[operand][axis];
      head = quotient;
    }
    return at + head * shape_.heads.stride[operand][0];
  }

  __device__ void find_keys(WgmmaItem<C>& item, int item_row) {
    const int rows = static_cast<int>(shape_.rows), keys = static_cast<int>(shape_.keys);
    int first = INT32_MAX, last = 0;
#pragma unroll 1
    for (int group = 0; group < C::kGroups; ++group) {
      typename WgmmaItem<C>::Keys seen{0, keys, 0, keys};
      const int first_row = item_row + group * C::kGroupRows;
      if (first_row >= rows)
        seen = {INT32_MAX, 0, 0, 0};
      else if (narrows())
        seen = find_ranges(item.rows + group * C::kGroupRows, first_row);
      first = min(first, seen.begin);
      last = max(last, seen.end);
      if (lane() == 0) item.keys[group] = seen;
    }
    if (lane() != 0) return;
    item.first_key = first < last ? first / C::kKeys * C::kKeys : 0;
    item.num_tiles = first < last ? (last - item.first_key + C::kKeys - 1) / C::kKeys : 0;
  }

  __device__ bool narrows() const { return shape_.causal || p_.segments != nullptr; }

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

  __device__ __forceinline__ void bring_queries(const WgmmaItem<C>& item) {
    const int left = static_cast<int>(shape_.rows) - item.first_row;  // rows that are there
    const int place = C::template place<C::kGroupRows>(row(), unit());
    const bool inside = unit() * 8 < shape_.width;
    const T* q = static_cast<const T*>(p_.q) + item.at[kQ] + (item.first_row + row()) * shape_.row[kQ] + unit() * 8;
    std::byte* to = shared_.queries[items_.slot()][0] + place;
#pragma unroll 1
    for (int first = row(); first < C::kGroups * C::kGroupRows; first += C::kGroupRows, to += C::kQueryBytes)
#pragma unroll
      for (int i = 0; i < C::kGroupRows; i += kStep) {
        copy_16_async(to + i * C::kRowBytes, q, inside && first + i < left);
        q += kStep * shape_.row[kQ];
      }
    if (p_.gate == nullptr) return;
    const T* gate = static_cast<const T*>(p_.gate) + item.at[kGate] + item.first_row * shape_.row[kGate];
    for (int i = thread(); i < min(C::kGroups * C::kGroupRows, left); i += kGroupThreads)
      asm volatile("prefetch.global.L2 [%0];" ::"l"(gate + i * shape_.row[kGate]));
  }

  // Where a thread's i-th copy stands in a tile of keys; all of them are this far from `base`, its first.
  __device__ static std::byte* place_of_copy(std::byte* tile, int base, int i) {
    const int down = row_of_key(i * kStep);
    return tile + (base ^ C::swizzle(down)) + down * C::kRowBytes;
  }

  __device__ __forceinline__ void bring_tile(std::byte* tile, int base, const T*& from, int64_t stride,
                                             int left) const {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      copy_16_async(place_of_copy(tile, base, i), from, row() + i * kStep < left);
      from += kStep * stride;
    }
  }

  __device__ __forceinline__ void bring_tiles(const WgmmaItem<C>& item) {
    const int base = C::template place<C::kKeys>(row_of_key(row()), unit()), num_tiles = item.num_tiles;
    int first_key = item.first_key;
    const T* k = static_cast<const T*>(p_.k) + item.at[kK] + (first_key + row()) * shape_.row[kK] + unit() * 8;
    const T* v = static_cast<const T*>(p_.v) + item.at[kV] + (first_key + row()) * shape_.row[kV] + unit() * 8;
    const bool in_keys = unit() * 8 < shape_.width, in_values = unit() * 8 < shape_.value_width;
#pragma unroll 1
    for (int j = 0; j < num_tiles; ++j, first_key += C::kKeys, ++stages_.count) {
      const int left = static_cast<int>(shape_.keys) - first_key, slot = stages_.slot();
      typename WgmmaShared<C>::Stage& stage = shared_.stages[slot];
      wait_barrier(&shared_.keys_empty[slot], stages_.phase() ^ 1);
      bring_tile(stage.keys, base, k, shape_.row[kK], in_keys ? left : 0);
      arrive_after_copies(&shared_.keys_full[slot]);
      if (thread() < kWarp) bring_terms(shared_.terms[slot], item, first_key);
      wait_barrier(&shared_.values_empty[slot], stages_.phase() ^ 1);
      bring_tile(stage.values, base, v, shape_.row[kV], in_values ? left : 0);
      if (narrows()) {
        finish_values(item, stage.values, base, first_key);
        arrive(&shared_.values_full[slot]);
      } else {
        arrive_after_copies(&shared_.values_full[slot]);
      }
    }
  }

  __device__ void bring_terms(typename WgmmaShared<C>::Terms& terms, const WgmmaItem<C>& item, int first_key) {
    bool masks = false;
    if (shape_.mask != MaskKind::kNone && shape_.row[kMask] == 0) {
      const int64_t size = shape_.mask == MaskKind::kBool ? 1 : sizeof(T);
      const Mask<T> mask{shape_, static_cast<const char*>(p_.mask) + item.at[kMask] * size};
#pragma unroll
      for (int i = 0; i < C::kKeyBlocks; ++i) {
        const int key = first_key + i * kWarp;
        if (shape_.mask == MaskKind::kBool) {
          const uint32_t seen = mask.seen(0, key);
          masks = masks || seen != ~0u;
          if (lane() == 0) terms.seen[i] = seen;
        } else {
          const float added = mask.added(key + lane());
          masks = masks || added != 0;
          terms.added[i * kWarp + lane()] = added;
        }
      }
      masks = __any_sync(~0u, masks);
    }
    __syncwarp();
    if (lane() != 0) return;
    terms.masks = masks;
    arrive(&shared_.keys_full[stages_.slot()]);
  }

  // Hidden values that are not finite become zero, each by the thread that brought it: zero weights would spread them to queries that do
  // not see them.
  __device__ void finish_values(const WgmmaItem<C>& item, std::byte* values, int base, int first_key) {
    bool hides = false, lacks = false;
#pragma unroll 1
    for (int group = 0; group < C::kGroups; ++group) {
      const typename WgmmaItem<C>::Keys seen = item.keys[group];
      const int end = min(first_key + C::kKeys, static_cast<int>(shape_.keys));
      hides = hides || (seen.begin < seen.end && (first_key < seen.all_begin || end > seen.all_end));
    }
    commit_copies();
    wait_for_copies<0>();
#pragma unroll
    for (int i = 0; i < kCopies; ++i)
      if (hides) lacks = drop_infinite(reinterpret_cast<uint32_t*>(place_of_copy(values, base, i))) || lacks;
    lacks = __any_sync(~0u, lacks);
    if (lane() == 0) shared_.terms[stages_.slot()].lacks[thread() / kWarp] = lacks;
    fence_shared_for_products();
  }
  __device__ static bool drop_infinite(uint32_t* words) {
    constexpr uint32_t kExponent = std::is_same_v<T, BF16> ? 0x7f80 : 0x7c00;
    bool found = false;
#pragma unroll 1
    for (int i = 0; i < 4; ++i) {
      uint32_t kept = words[i];
      if ((kept & kExponent) == kExponent) kept &= 0xffff0000u;
      if ((kept >> 16 & kExponent) == kExponent) kept &= 0xffffu;
      found = found || kept != words[i];
      words[i] = kept;
    }
    return found;
  }

  const Shape& shape_;
  const Pointers& p_;
  const WgmmaLaunch& launch_;
  WgmmaShared<C>& shared_;
  Turn<C::kItems> items_;
  Turn<C::kStages> stages_;
};

}  // namespace plica::cuda::attention
