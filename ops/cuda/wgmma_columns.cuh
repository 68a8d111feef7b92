#pragma once

#include "ops/cuda/wgmma.cuh"

namespace plica::cuda {

// The descriptor of a (k, 64) matrix of 16-bit elements in shared memory, its rows of 128 bytes swizzled; `+ kSixteenRows` moves by 16
// along k.
__device__ inline uint64_t rows_in_shared(uint32_t address) {
  constexpr uint64_t kSwizzle128 = uint64_t{1} << 62, kEightRows = uint64_t{1024 >> 4} << 32,
                     kUnused = uint64_t{8192 >> 4} << 16;
  return kSwizzle128 | kEightRows | kUnused | (address & 0x3ffff) >> 4;
}
constexpr int kSixteenRows = 16 * 128 / 16;

// d (64, 64) = a (64, 16) @ b (16, 64), plus d where `add`; a as `matrix_in_shared` describes it.
template <class T>
__device__ inline void multiply_rows_add(float (&d)[32], uint64_t a, uint64_t b, bool add) {
#define PLICA_WGMMA(type)                                                                                              \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type       \
               " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, "     \
               "%21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, p, 1, 1, 0, 1;}"                     \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),       \
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
                 "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),            \
                 "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),            \
                 "+f"(d[30]), "+f"(d[31])                                                                              \
               : "l"(a), "l"(b), "r"(int{add}))
  if constexpr (std::is_same_v<T, BF16>)
    PLICA_WGMMA("bf16");
  else
    PLICA_WGMMA("f16");
#undef PLICA_WGMMA
}

}  // namespace plica::cuda
