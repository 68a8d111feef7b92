#pragma once

#include <algorithm>

#include "ops/cuda/attention_products.cuh"
#include "ops/cuda/attention_terms.cuh"

// What the warps of the kernel `wgmma` share.
namespace plica::cuda::attention {

// What an instantiation is made of: kGroups warpgroups of 64 queries each take the same tiles of kKeys keys; one more brings
// them. kBlocks of such blocks share a multiprocessor. kOverlaps: a tile's weights are made while those of the tile before are
// multiplied by its values, as Shah and others (2024) do; else other warpgroups fill that time.
template <class T_, int kWidth_, int kKeys_, int kGroups_, int kBlocks_, bool kOverlaps_>
struct Groups {
  using T = T_;
  static constexpr int kWidth = kWidth_, kKeys = kKeys_, kGroups = kGroups_, kBlocks = kBlocks_;
  static constexpr bool kOverlaps = kOverlaps_;
  static constexpr int kGroupThreads = 128, kGroupRows = 64, kConsumers = kGroups * kGroupThreads;
  static constexpr int kThreads = kConsumers + kGroupThreads;
  // In shared memory: tiles of keys and values, work items' queries.
  static constexpr int kTileBytes = kKeys * kWidth * 2, kQueryBytes = kGroupRows * kWidth * 2;
  static constexpr int kItems = kWidth <= 32 ? 4 : 2;
  static constexpr int kStages = kBlocks * (8 * kTileBytes + kItems * kGroups * kQueryBytes) <= 200 << 10 ? 4 : 2;
  // Registers a thread, at the start and afterwards.
  static constexpr int kRegisters = 65536 / kBlocks / kThreads / 8 * 8, kBringerRegisters = 40;
  static constexpr int kConsumerRegisters =
      std::min((kRegisters * (kGroups + 1) - kBringerRegisters) / kGroups / 8 * 8, 240);
  // Whether there are registers for a tile of bias before its scores are there.
  static constexpr bool kBiasAhead = kKeys + kWidth * 3 / 4 + 36 <= kConsumerRegisters;
  static constexpr int kRowBytes = kWidth >= 64 ? 128 : 64, kUnits = kWidth / 8, kPanelUnits = kRowBytes / 16;
  static constexpr int kKeyTiles = kKeys / 8, kKeyBlocks = kKeys / kWarp, kSteps = kWidth / 16;

  // From the descriptor of a tile of kRows rows to that of its columns from 16 k on.
  template <int kRows>
  static constexpr int step(int k) {
    return 2 * k / kPanelUnits * (kRows * kRowBytes / 16) + 2 * k % kPanelUnits;
  }
  // What the swizzle adds to the place of a row's units, modulo two.
  __host__ __device__ static constexpr int swizzle(int row) { return (kRowBytes == 128 ? row % 8 : row / 2 % 4) * 16; }
  // Where a unit of 8 columns of a row stands in a tile of kRows rows.
  template <int kRows>
  __device__ static int place(int row, int unit) {
    return unit / kPanelUnits * (kRows * kRowBytes) + swizzled<kRowBytes>(row, unit % kPanelUnits);
  }
};

// Of a work item, which is kGroups * 64 queries of a head.
template <class C>
struct WgmmaItem {
  struct Keys {
    int begin, end;          // that any query of a warpgroup sees
    int all_begin, all_end;  // that all of them see
  };
  int64_t at[kNumOperands];  // offsets of its head
  int first_row;             // negative: there are no more items
  int first_key, num_tiles;
  Keys keys[C::kGroups];
  int2 rows[C::kGroups * C::kGroupRows];  // of each query where they differ: first key, end
};

// Keys stand in their tiles, 32 by 32, in an order that gives each lane 8 neighbouring ones: columns 2 t and 2 t + 1 of tile i of scores are
// keys 8 t + 2 i and 8 t + 2 i + 1. This is the row of a key.
__host__ __device__ constexpr int row_of_key(int key) {
  return key / 32 * 32 + key / 2 % 4 * 8 + key / 8 % 4 * 2 + key % 2;
}

// A ring of kNum (a power of two) slots in order of use.
template <int kNum>
struct Turn {
  unsigned count = 0;
  __device__ int slot() const { return count % kNum; }
  __device__ int slot_before() const { return (count - 1) % kNum; }
  __device__ uint32_t phase() const { return count / kNum % 2; }
};

template <class C>
struct alignas(1024) WgmmaShared {
  struct Stage {
    std::byte keys[C::kTileBytes], values[C::kTileBytes];
  };
  // Of a mask of keys, for the keys of a stage.
  struct Terms {
    alignas(16) float added[C::kKeys];
    uint32_t seen[C::kKeyBlocks];
    bool masks;                // anything
    alignas(4) bool lacks[4];  // values that are not finite: zero in their place; by the warp that found them
  };
  std::byte queries[C::kItems][C::kGroups][C::kQueryBytes];  // and their results
  Stage stages[C::kStages];
  WgmmaItem<C> items[C::kItems];
  Terms terms[C::kStages];
  uint64_t item_full[C::kItems], item_empty[C::kItems];
  uint64_t keys_full[C::kStages], keys_empty[C::kStages], values_full[C::kStages], values_empty[C::kStages];

  // Full for who waits for copies of each thread of the bringers and for one that has written what is beside them.
  __device__ void init_barriers() {
    constexpr int kWarps = C::kConsumers / kWarp;
    for (int i = 0; i < C::kItems; ++i)
      init_barrier(&item_full[i], C::kGroupThreads + 1), init_barrier(&item_empty[i], kWarps);
    for (int i = 0; i < C::kStages; ++i) {
      init_barrier(&keys_full[i], C::kGroupThreads + 1), init_barrier(&keys_empty[i], kWarps);
      init_barrier(&values_full[i], C::kGroupThreads), init_barrier(&values_empty[i], kWarps);
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

}  // namespace plica::cuda::attention
