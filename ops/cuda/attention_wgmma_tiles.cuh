#pragma once

#include <algorithm>

#include "ops/cuda/attention_products.cuh"
#include "ops/cuda/attention_terms.cuh"
#include "ops/cuda/attention_wgmma_maps.cuh"

// What the warps of the kernel `wgmma` share.
namespace plica::cuda::attention {

// What an instantiation is made of: kHeads neighbouring heads, of which kRowGroups warpgroups take 64 queries each, go through
// tiles of kKeys keys; one more warp brings them. kBlocks of such blocks share a multiprocessor. kOverlaps: a tile's weights
// are made while those of the tile before are multiplied by its values, as Shah and others (2024) do; else other warpgroups
// fill that time. kBiased: there is a bias. kNarrows: queries may see different keys, and there may be no bias after all.
template <class T_, int kWidth_, int kHeads_, int kRowGroups_, int kKeys_, int kBlocks_, bool kOverlaps_, bool kBiased_,
          bool kNarrows_>
struct Groups {
  using T = T_;
  static constexpr int kWidth = kWidth_, kHeads = kHeads_, kRowGroups = kRowGroups_, kKeys = kKeys_, kBlocks = kBlocks_;
  static constexpr bool kOverlaps = kOverlaps_, kBiased = kBiased_, kNarrows = kNarrows_;
  static constexpr bool kSumsByProduct = kWidth == 32;  // tensor cores have time to add up weights, too
  static constexpr int kGroupThreads = 128, kGroupRows = 64, kGroups = kHeads * kRowGroups,
                       kRows = kRowGroups * kGroupRows;
  static constexpr int kConsumers = kGroups * kGroupThreads, kThreads = kConsumers + kGroupThreads;
  // Registers a thread, at the start and afterwards.
  static constexpr int kRegisters = 65536 / kBlocks / kThreads / 8 * 8, kBringerRegisters = 32;
  static constexpr int kConsumerRegisters =
      std::min((kRegisters * (kGroups + 1) - kBringerRegisters) / kGroups / 8 * 8, 240);
  // Tiles in shared memory are panels of rows of kRowBytes; heads stand side by side in them.
  static constexpr int kRowBytes = std::min(kHeads * kWidth * 2, 128), kPanels = kHeads * kWidth * 2 / kRowBytes;
  static constexpr int kHeadBytes = kWidth * 2, kUnits = kWidth / 8, kPanelUnits = kRowBytes / 16;
  static constexpr int kTileBytes = kKeys * kHeads * kWidth * 2, kQueryBytes = kRows * kHeads * kWidth * 2;
  static constexpr int kBiasRowBytes = kKeys % 64 == 0 ? 128 : 64,
                       kBiasPanels = (kKeys * 2 + kBiasRowBytes - 1) / kBiasRowBytes;
  static constexpr int kBiasPanelBytes = kRows * kBiasRowBytes;  // of a head
  static constexpr int kBiasBytes = kBiased ? kHeads * kBiasPanels * kBiasPanelBytes : 0;
  static constexpr int kItems = kWidth == 32 && !kBiased ? 4 : kWidth <= 64 ? 2 : 1;
  static constexpr int kStageBytes = 2 * kTileBytes + kBiasBytes;
  static constexpr int kRoom = (226 << 10) / kBlocks - 7168 - 2 * kItems * kQueryBytes;
  static constexpr int kStages = std::min(kRoom / kStageBytes, 8);
  static_assert(kStages >= 2 && !(kBiased && kHeads > 1));
  static constexpr int kKeyTiles = kKeys / 8, kKeyBlocks = (kKeys + kWarp - 1) / kWarp, kSteps = kWidth / 16;

  __device__ static bool narrows(const Shape& shape, const Pointers& p) {
    return kNarrows && (shape.causal || p.segments != nullptr);
  }
  __device__ static bool has_bias(const Pointers& p) { return kBiased && (!kNarrows || p.bias != nullptr); }

  // From the descriptor of a tile of kTileRows rows to that of its columns from 16 k on.
  template <int kTileRows>
  static constexpr int step(int k) {
    return 2 * k / kPanelUnits * (kTileRows * kRowBytes / 16) + 2 * k % kPanelUnits;
  }
  // Where a unit of 8 columns of a row of a head stands in a tile of kTileRows rows.
  template <int kTileRows>
  __device__ static int place(int row, int head, int unit) {
    const int at = head * kUnits + unit;
    return at / kPanelUnits * (kTileRows * kRowBytes) + swizzled<kRowBytes>(row, at % kPanelUnits);
  }
};

__device__ inline bool masks_keys(const Shape& shape) { return shape.mask != MaskKind::kNone && shape.row[kMask] == 0; }

// Of a work item, which is kRows queries of kHeads heads.
template <class C>
struct WgmmaItem {
  struct Keys {
    int begin, end;          // that any query of a warpgroup sees
    int all_begin, all_end;  // that all of them see
  };
  int64_t at[kNumOperands];  // offsets of its first head
  int first_row;             // negative: there are no more items
  int first_key, num_tiles;
  Keys keys[C::kRowGroups];
  int2 rows[C::kNarrows ? C::kRows : 1];  // of each query where they differ: first key, end
};

// A place in a ring of kNum slots in order of use.
template <int kNum>
struct Turn {
  int slot = 0;
  uint32_t phase = 0;
  __device__ int before() const { return slot == 0 ? kNum - 1 : slot - 1; }
  __device__ void operator++() {
    if (++slot < kNum) return;
    slot = 0;
    phase ^= 1;
  }
};

template <int kBytes>
struct BiasTile {
  alignas(1024) std::byte bias[kBytes];
};
template <>
struct BiasTile<0> {
  static constexpr std::byte* bias = nullptr;
};

template <class C>
struct alignas(1024) WgmmaShared {
  struct Stage : BiasTile<C::kBiasBytes> {
    alignas(1024) std::byte keys[C::kTileBytes];
    alignas(1024) std::byte values[C::kTileBytes];
  };
  // Of a mask of keys, for the keys of a stage.
  struct Terms {
    alignas(16) float added[C::kKeyBlocks * kWarp];
    uint32_t seen[C::kKeyBlocks];
    bool masks;  // anything
    bool lacks;  // values that are not finite: zero in their place
  };
  std::byte queries[C::kItems][C::kQueryBytes];  // and their results
  std::byte gates[C::kItems][C::kQueryBytes];
  Stage stages[C::kStages];
  WgmmaItem<C> items[C::kItems];
  Terms terms[C::kStages];
  alignas(128) uint32_t ones[64];  // a tile (8, 16) that adds up weights
  uint64_t item_full[C::kItems], item_empty[C::kItems];
  uint64_t keys_full[C::kStages], keys_empty[C::kStages], values_full[C::kStages], values_empty[C::kStages];
  uint64_t values_there[C::kStages];  // before those that are not finite are taken out

  // Where lanes write what a barrier guards, each lane of those who write and read it arrives; where only copies do, one of a warp.
  __device__ void init_barriers(bool masks_keys, bool narrows) {
    constexpr int kWarps = C::kConsumers / kWarp;
    const uint32_t keys = masks_keys ? kWarp : 1, values = narrows ? kWarp : 1;
    for (int i = 0; i < C::kItems; ++i) init_barrier(&item_full[i], kWarp), init_barrier(&item_empty[i], C::kConsumers);
    for (int i = 0; i < C::kStages; ++i) {
      init_barrier(&keys_full[i], keys), init_barrier(&keys_empty[i], kWarps * keys);
      init_barrier(&values_full[i], values), init_barrier(&values_empty[i], kWarps * values);
      init_barrier(&values_there[i], 1);
    }
    fence_barrier_init();
  }
};

// How a launch covers the shape. Of the heads that share their terms, `chunk` in turn are taken for each tile of queries, so that these
// find the terms in the caches.
struct WgmmaLaunch {
  unsigned items, query_tiles, chunk, chunks;
  Divider by_query_tiles, by_chunk, by_chunks;
};

// A box of a map to shared memory; its bytes count towards the barrier's phase.
__device__ inline void copy_box(void* to, const CUtensorMap& map, const int (&at)[5], uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5, %6}], "
      "[%7];" ::"r"(shared_address(to)),
      "l"(&map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]), "r"(shared_address(barrier))
      : "memory");
}

}  // namespace plica::cuda::attention
