#pragma once

#include "ops/cuda/wgmma.cuh"

namespace plica::cuda {

// The descriptor of a (k, 48) matrix of 16-bit elements in shared memory: 16 columns in 64 rows of 32 bytes, swizzled, then the next 16;
// `+ kSixteenStripRows` moves by 16 along k.
__device__ inline uint64_t strips_in_shared(uint32_t address) {
  constexpr uint64_t kSwizzle32 = uint64_t{3} << 62, kEightRows = uint64_t{256 >> 4} << 32,
                     kNextColumns = uint64_t{64 * 32 >> 4} << 16;
  return kSwizzle32 | kEightRows | kNextColumns | (address & 0x3ffff) >> 4;
}
constexpr int kSixteenStripRows = 16 * 32 / 16;

// d (64, 48) += a (64, 16) @ b (16, 48); a as `matrix_in_shared` describes it.
template <class T>
__device__ inline void multiply_strips_add(float (&d)[24], uint64_t a, uint64_t b) {
#define PLICA_WGMMA(type)                                                                                              \
  asm volatile("{.reg .pred p; setp.eq.b32 p, 1, 1; wgmma.mma_async.sync.aligned.m64n48k16.f32." type "." type         \
               " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "     \
               "%21, %22, %23}, %24, %25, p, 1, 1, 0, 1;}"                                                             \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),       \
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
                 "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),            \
                 "+f"(d[23])                                                                                           \
               : "l"(a), "l"(b))
  if constexpr (std::is_same_v<T, BF16>)
    PLICA_WGMMA("bf16");
  else
    PLICA_WGMMA("f16");
#undef PLICA_WGMMA
}

}  // namespace plica::cuda
