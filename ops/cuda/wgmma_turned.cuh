#pragma once

#include "ops/cuda/wgmma.cuh"

namespace plica::cuda {

// d (64, 16) += a (16, 64)^T @ b (16, 16)^T of bf16: columns of a matrix of weights are the rows of the product, few rows of
// activations its columns. a as `rows_in_shared` describes it, b as `matrix_in_shared` does.
__device__ inline void multiply_turned_add(float (&d)[8], uint64_t a, uint64_t b) {
  asm volatile(
      "{.reg .pred p; setp.eq.b32 p, 1, 1; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16"
      " {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p, 1, 1, 1, 0;}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
      : "l"(a), "l"(b));
}

}  // namespace plica::cuda
