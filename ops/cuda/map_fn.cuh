#pragma once

#include <cuda_runtime.h>

namespace plica::cuda {

// Functions of Map in fp32. Quotients in sigmoid and silu are approximate (2 ulp), all else is CUDA's accurate
// single-precision library.
__device__ inline float sigmoid(float x) { return __fdividef(1.0f, 1.0f + expf(-x)); }
__device__ inline float silu(float x) { return x * sigmoid(x); }
__device__ inline float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.707106781f)); }
__device__ inline float gelu_tanh(float x) {
  return 0.5f * x * (1.0f + tanhf(0.797884561f * (x + 0.044715f * x * x * x)));
}
__device__ inline float relu(float x) { return x < 0.0f ? 0.0f : x; }
__device__ inline float larger(float a, float b) { return a > b || a != a ? a : b; }
__device__ inline float smaller(float a, float b) { return a < b || a != a ? a : b; }

}  // namespace plica::cuda
