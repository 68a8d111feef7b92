#pragma once

#include "ops/cuda/wgmma.cuh"

namespace plica::cuda {

// d (64, 32) = a (64, 16) @ b (32, 16)^T of 16-bit elements, plus d where `add`; a in registers.
template <class T>
__device__ inline void multiply_add(float (&d)[16], const uint32_t (&a)[4], uint64_t b, bool add) {
#define PLICA_WGMMA(type)                                                                                             \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %21, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32." type "." type      \
               " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19}, "      \
               "%20, p, 1, 1, 0;}"                                                                                    \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),      \
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]) \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(int{add}))
  if constexpr (std::is_same_v<T, BF16>)
    PLICA_WGMMA("bf16");
  else
    PLICA_WGMMA("f16");
#undef PLICA_WGMMA
}

}  // namespace plica::cuda
