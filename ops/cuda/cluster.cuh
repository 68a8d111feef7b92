#pragma once

#include <cuda_runtime.h>

#include <cstdint>

// Blocks that run at once and read one another's shared memory (compute capability 9.0 and later).
namespace plica::cuda {

constexpr int kMostRanks = 8;  // blocks of a cluster: what every device takes

// All blocks of the cluster are here, and see what the others have written to their shared memory.
__device__ inline void sync_cluster() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
// Until all have read what they need of others' memory; nothing else is ordered.
__device__ inline void leave_cluster() {
#if __CUDA_ARCH__ >= 900
  __syncwarp();
  asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;" ::: "memory");
#endif
}
// Four floats of another block's shared memory that lie where `address` does in this one's.
__device__ inline float4 read_cluster(uint32_t address, uint32_t rank) {
  float4 v{};
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{.reg .b32 there; mapa.shared::cluster.u32 there, %4, %5; ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [there];}"
      : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
      : "r"(address), "r"(rank)
      : "memory");
#endif
  return v;
}
// Four floats to another block's shared memory, where `address` lies in this one's.
__device__ inline void write_cluster(uint32_t address, uint32_t rank, const float4& v) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; st.shared::cluster.v4.f32 [there], {%2, %3, %4, "
      "%5};}" ::"r"(address),
      "r"(rank), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w)
      : "memory");
#endif
}

}  // namespace plica::cuda
