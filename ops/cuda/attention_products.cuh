#pragma once

#include <type_traits>

#include "ops/cuda/wgmma.cuh"

// Products of a warpgroup for Attention: bf16 or fp16, sums in fp32.
namespace plica::cuda::attention {

// A matrix of 16-bit elements in shared memory as panels of rows of kRowBytes (64 or 128), in which 16-byte units are swizzled as the tensor
// cores want them; a panel starts at a multiple of 1024. The products' inner axis runs along the rows (multiply_rows) or down them
// (multiply_columns).
template <int kRowBytes>
__host__ __device__ constexpr uint64_t panels_in_shared(uint32_t address, int panel_bytes) {
  constexpr uint64_t kSwizzle = uint64_t{kRowBytes == 128 ? 1 : 2} << 62,
                     kEightRows = uint64_t{8 * kRowBytes >> 4} << 32;
  return kSwizzle | kEightRows | static_cast<uint64_t>(panel_bytes >> 4) << 16 | (address & 0x3ffff) >> 4;
}

// What this thread knows to be written to shared memory comes before what tensor cores read of it.
__device__ inline void fence_shared_for_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Keeps the compiler from moving reads or writes of accumulators over the waits around it.
template <int kNum>
__device__ __forceinline__ void pin(float (&d)[kNum]) {
#pragma unroll
  for (int i = 0; i < kNum; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// Four matrices (8, 8) of 16-bit elements to shared memory; a lane gives the address of one row of one of them.
__device__ inline void store_matrices(void* row, const uint32_t (&a)[4]) {
#if __CUDA_ARCH__ >= 900
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(a[0]), "r"(a[1]),
               "r"(a[2]), "r"(a[3])
               : "memory");
#endif
}

// Where a unit of a row stands in a panel.
template <int kRowBytes>
__device__ inline int swizzled(int row, int unit) {
  return row * kRowBytes + ((unit ^ (kRowBytes == 128 ? row % 8 : row / 2 % 4)) * 16);
}

#define PLICA_8(i)                                                                                            \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define PLICA_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define PLICA_NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define PLICA_NAMES_32 PLICA_NAMES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define PLICA_NAMES_48 PLICA_NAMES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define PLICA_NAMES_64                                                                                          \
  PLICA_NAMES_32                                                                                                \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, " \
  "%53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"

// d (64, 64) = a (64, 16) @ b (64, 16)^T, plus d where `add`; a in shared memory.
template <class T>
__device__ inline void multiply_rows(float (&d)[32], uint64_t a, uint64_t b, bool add) {
#define PLICA_WGMMA(type)                                                                                        \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type \
               " {" PLICA_NAMES_32 "}, %32, %33, p, 1, 1, 0, 0;}"                                                \
               : PLICA_8(0), PLICA_8(8), PLICA_8(16), PLICA_8(24)                                                \
               : "l"(a), "l"(b), "r"(int{add}))
  if constexpr (std::is_same_v<T, BF16>)
    PLICA_WGMMA("bf16");
  else
    PLICA_WGMMA("f16");
#undef PLICA_WGMMA
}

// d (64, 128) = a (64, 16) @ b (128, 16)^T, plus d where `add`; a in shared memory.
template <class T>
__device__ inline void multiply_rows(float (&d)[64], uint64_t a, uint64_t b, bool add) {
#define PLICA_WGMMA(type)                                                                                             \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type     \
               " {" PLICA_NAMES_64 "}, %64, %65, p, 1, 1, 0, 0;}"                                                     \
               : PLICA_8(0), PLICA_8(8), PLICA_8(16), PLICA_8(24), PLICA_8(32), PLICA_8(40), PLICA_8(48), PLICA_8(56) \
               : "l"(a), "l"(b), "r"(int{add}))
  if constexpr (std::is_same_v<T, BF16>)
    PLICA_WGMMA("bf16");
  else
    PLICA_WGMMA("f16");
#undef PLICA_WGMMA
}

// d (64, 72) = a (64, 16) @ b (72, 16)^T, plus d where `add`; a in shared memory.
template <class T>
__device__ inline void multiply_rows(float (&d)[36], uint64_t a, uint64_t b, bool add) {
#define PLICA_WGMMA(type)                                                                                        \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %38, 0; wgmma.mma_async.sync.aligned.m64n72k16.f32." type "." type \
               " {" PLICA_NAMES_32 ", %32, %33, %34, %35}, %36, %37, p, 1, 1, 0, 0;}"                            \
               : PLICA_8(0), PLICA_8(8), PLICA_8(16), PLICA_8(24), PLICA_4(32)                                   \
               : "l"(a), "l"(b), "r"(int{add}))
  if constexpr (std::is_same_v<T, BF16>)
    PLICA_WGMMA("bf16");
  else
    PLICA_WGMMA("f16");
#undef PLICA_WGMMA
}

// d (64, 96) = a (64, 16) @ b (96, 16)^T, plus d where `add`; a in shared memory.
template <class T>
__device__ inline void multiply_rows(float (&d)[48], uint64_t a, uint64_t b, bool add) {
#define PLICA_WGMMA(type)                                                                                        \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %50, 0; wgmma.mma_async.sync.aligned.m64n96k16.f32." type "." type \
               " {" PLICA_NAMES_48 "}, %48, %49, p, 1, 1, 0, 0;}"                                                \
               : PLICA_8(0), PLICA_8(8), PLICA_8(16), PLICA_8(24), PLICA_8(32), PLICA_8(40)                      \
               : "l"(a), "l"(b), "r"(int{add}))
  if constexpr (std::is_same_v<T, BF16>)
    PLICA_WGMMA("bf16");
  else
    PLICA_WGMMA("f16");
#undef PLICA_WGMMA
}

// d (64, 144) likewise, as two halves: an instruction's operands are to find room among a thread's first registers.
template <class T>
__device__ inline void multiply_rows(float (&d)[72], uint64_t a, uint64_t b, bool add, uint32_t to_half) {
  multiply_rows<T>(reinterpret_cast<float(&)[36]>(d[0]), a, b, add);
  multiply_rows<T>(reinterpret_cast<float(&)[36]>(d[36]), a, b + to_half, add);
}

// d (64, 8) = a (64, 16) @ b (8, 16)^T, plus d; a in registers.
template <class T>
__device__ inline void add_rows(float (&d)[4], const uint32_t (&a)[4], uint64_t b) {
#define PLICA_WGMMA(type)                                                 \
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32." type "." type \
               " {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"     \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])           \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
  if constexpr (std::is_same_v<T, BF16>)
    PLICA_WGMMA("bf16");
  else
    PLICA_WGMMA("f16");
#undef PLICA_WGMMA
}

// d (64, 32) = a (64, 16) @ b (16, 32), plus d where `add`; a in registers.
template <class T>
__device__ inline void multiply_columns(float (&d)[16], const uint32_t (&a)[4], uint64_t b, bool add) {
#define PLICA_WGMMA(type)                                                                                        \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %21, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32." type "." type \
               " {" PLICA_NAMES_16 "}, {%16, %17, %18, %19}, %20, p, 1, 1, 1;}"                                  \
               : PLICA_8(0), PLICA_8(8)                                                                          \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int{add}))
  if constexpr (std::is_same_v<T, BF16>)
    PLICA_WGMMA("bf16");
  else
    PLICA_WGMMA("f16");
#undef PLICA_WGMMA
}

// d (64, 64) = a (64, 16) @ b (16, 64), plus d where `add`; a in registers.
template <class T>
__device__ inline void multiply_columns(float (&d)[32], const uint32_t (&a)[4], uint64_t b, bool add) {
#define PLICA_WGMMA(type)                                                                                        \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %37, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type \
               " {" PLICA_NAMES_32 "}, {%32, %33, %34, %35}, %36, p, 1, 1, 1;}"                                  \
               : PLICA_8(0), PLICA_8(8), PLICA_8(16), PLICA_8(24)                                                \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int{add}))
  if constexpr (std::is_same_v<T, BF16>)
    PLICA_WGMMA("bf16");
  else
    PLICA_WGMMA("f16");
#undef PLICA_WGMMA
}

// d (64, 128) = a (64, 16) @ b (16, 128), plus d where `add`; a in registers.
template <class T>
__device__ inline void multiply_columns(float (&d)[64], const uint32_t (&a)[4], uint64_t b, bool add) {
#define PLICA_WGMMA(type)                                                                                             \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %69, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type     \
               " {" PLICA_NAMES_64 "}, {%64, %65, %66, %67}, %68, p, 1, 1, 1;}"                                       \
               : PLICA_8(0), PLICA_8(8), PLICA_8(16), PLICA_8(24), PLICA_8(32), PLICA_8(40), PLICA_8(48), PLICA_8(56) \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int{add}))
  if constexpr (std::is_same_v<T, BF16>)
    PLICA_WGMMA("bf16");
  else
    PLICA_WGMMA("f16");
#undef PLICA_WGMMA
}

#undef PLICA_8
#undef PLICA_4
#undef PLICA_NAMES_16
#undef PLICA_NAMES_32
#undef PLICA_NAMES_48
#undef PLICA_NAMES_64

}  // namespace plica::cuda::attention
