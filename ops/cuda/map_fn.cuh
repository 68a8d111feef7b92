#pragma once

#include <cuda_runtime.h>

namespace plica::cuda {

// Functions of Map in fp32. Quotients in sigmoid and silu are approximate (2 ulp), all else is CUDA's accurate
// single-precision library.
__device__ inline float sigmoid(float x) { return __fdividef(1.0f, 1.0f + expf(-x)); }
__device__ inline float silu(float x) { return x * sigmoid(x); }
__device__ inline float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.707106781f)); }
// Abramowitz and Stegun 7.1.26: erf to 1.5e-7, far below what 16 bits hold.
__device__ inline float erf_short(float x) {
  const float z = fabsf(x), t = __fdividef(1.0f, 1.0f + 0.3275911f * z);
  const float p =
      t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  return copysignf(1.0f - p * __expf(-z * z), x);
}

// For a result of type T.
template <class T>
__device__ float gelu_for(float x) {
  if constexpr (sizeof(T) == 2)
    return 0.5f * x * (1.0f + erf_short(x * 0.707106781f));
  else
    return gelu(x);
}
__device__ inline float gelu_tanh(float x) {
  return 0.5f * x * (1.0f + tanhf(0.797884561f * (x + 0.044715f * x * x * x)));
}
__device__ inline float relu(float x) { return x < 0.0f ? 0.0f : x; }
__device__ inline float larger(float a, float b) { return a > b || a != a ? a : b; }
__device__ inline float smaller(float a, float b) { return a < b || a != a ? a : b; }

}  // namespace plica::cuda
