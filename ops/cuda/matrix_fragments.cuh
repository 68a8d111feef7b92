#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "ops/cuda/element.cuh"
#include "runtime/core/dtype.h"

namespace plica::cuda {

// Four 8x8 matrices of 16 bits (or 8x4 of 32) between shared memory and registers; lane i names row i % 8 of matrix i / 8.
// kTurned: matrices of 16 bits, transposed on the way.
template <bool kTurned = false>
__device__ inline void load_matrices(uint32_t (&r)[4], uint32_t address) {
  if constexpr (kTurned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}
template <bool kTurned = false>
__device__ inline void store_matrices(uint32_t address, const uint32_t (&r)[4]) {
#if __CUDA_ARCH__ >= 900
  if constexpr (kTurned)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r[0]),
                 "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r[0]),
                 "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
#endif
}

// An object in shared memory by its address there.
template <class V>
__device__ inline V& shared_at(uint32_t address) {
  return *static_cast<V*>(__cvta_shared_to_generic(address));
}

// The nearest tf32 number.
__device__ inline float nearest_tf32(float x) {
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}

// Two neighbouring elements of 16 bits in a register, the first one low.
template <class T>
__device__ inline float2 widen_pair(uint32_t bits) {
  if constexpr (std::is_same_v<T, BF16>)
    return {__uint_as_float(bits << 16), __uint_as_float(bits & 0xffff0000u)};
  else
    return __half22float2(*reinterpret_cast<const __half2*>(&bits));
}
template <class T>
__device__ inline uint32_t narrow_pair(float first, float second) {
  uint32_t bits;
  if constexpr (std::is_same_v<T, BF16>)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  return bits;
}
// As narrow_pair, but the largest number of T in place of larger ones and of infinity.
template <class T>
__device__ inline uint32_t narrow_pair_within(float first, float second) {
  uint32_t bits;
  if constexpr (std::is_same_v<T, BF16>)
    asm("cvt.rn.satfinite.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  else
    asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  return bits;
}

}  // namespace plica::cuda
