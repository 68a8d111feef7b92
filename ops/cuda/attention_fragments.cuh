#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "runtime/core/dtype.h"

// Operands of 16-bit matrix products in a warp's registers.
namespace plica::cuda::attention {

// Two floats as two elements of 16 bits.
__device__ inline uint32_t pack(BF16, float low, float high) {
  uint32_t both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
__device__ inline uint32_t pack(F16, float low, float high) {
  uint32_t both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

__device__ inline float2 widen_pair(BF16, uint32_t both) {
  return {__uint_as_float(both << 16), __uint_as_float(both & 0xffff0000u)};
}
__device__ inline float2 widen_pair(F16, uint32_t both) {
  return __half22float2(*reinterpret_cast<const __half2*>(&both));
}

// Four matrices (8, 8) of 16-bit elements; a lane gives the address of one row of one of them.
template <bool kTrans>
__device__ inline void load_matrices(uint32_t (&b)[4], const void* row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (kTrans)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(address));
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(address));
}

}  // namespace plica::cuda::attention
