#pragma once

#include <cuda_runtime.h>

namespace plica::cuda {

// By the device's approximate instructions, to 2^-22; numbers below 2^-126 are 0.
__device__ inline float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float inverse_approximate(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline float inverse_root_approximate(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// To 2^-11.
__device__ inline float tanh_approximate(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline float sigmoid_approximate(float x) {
  return inverse_approximate(1.0f + exp2_approximate(x * -1.44269504f));
}

// GELU by erf to 1.5e-7 (Abramowitz and Stegun 7.1.26), in 13 instructions: x / 2 + |x| erf(|x| / sqrt(2)) / 2.
__device__ inline float gelu_approximate(float x) {
  constexpr float kRoot = 0.70710678f, kHalfLog2E = 0.72134752f;
  const float z = fabsf(x), t = inverse_approximate(fmaf(z, 0.3275911f * kRoot, 1.0f));
  const float tail = t * fmaf(t,
                              fmaf(t, fmaf(t, fmaf(t, -0.5f * 1.061405429f, 0.5f * 1.453152027f), -0.5f * 1.421413741f),
                                   0.5f * 0.284496736f),
                              -0.5f * 0.254829592f);
  return fmaf(z, fmaf(tail, exp2_approximate(x * (x * -kHalfLog2E)), 0.5f), 0.5f * x);
}

}  // namespace plica::cuda
