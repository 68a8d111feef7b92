#pragma once

#include "ops/cuda/tensor_tile.cuh"

// Copies that reach all blocks of a cluster (compute capability 9.0 and later).
namespace plica::cuda {

__device__ inline uint32_t rank_in_cluster() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// A box from (column, row) on, to the same place in each of kRanks blocks, those of a cluster from `first` on; its bytes count towards the
// barrier of each.
template <int kRanks>
__device__ void copy_box_to_all(void* to, const CUtensorMap& map, int column, int row, uint64_t* barrier,
                                uint32_t first = 0) {
  if constexpr (kRanks == 1)
    copy_box(to, map, column, row, barrier);
  else
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(shared_address(to)),
        "l"(&map), "r"(column), "r"(row), "r"(shared_address(barrier)),
        "h"(static_cast<uint16_t>(((1u << kRanks) - 1) << first))
        : "memory");
}

// At another block's barrier that lies where `barrier` does in this one. Orders no accesses but those of copies and products.
__device__ inline void arrive_in_cluster(uint64_t* barrier, uint32_t rank) {
  asm volatile(
      "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; mbarrier.arrive.shared::cluster.b64 _, [there];}" ::
          "r"(shared_address(barrier)),
      "r"(rank)
      : "memory");
}

}  // namespace plica::cuda
