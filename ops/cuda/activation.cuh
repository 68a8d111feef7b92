#pragma once

#include <cuda_runtime.h>

#include "ops/cuda/map_fn.cuh"
#include "ops/mat_mul.h"

namespace plica::cuda {

// As kernels that are not bound by it compute it: CUDA's accurate library, in W.
template <class W>
__device__ inline W activate(ops::Activation activation, W x) {
  using ops::Activation;
  switch (activation) {
    case Activation::kRelu: return x < W{0} ? W{0} : x;
    case Activation::kGelu: return W(0.5) * x * (W{1} + erf(x * W(0.70710678118654752)));
    case Activation::kGeluTanh:
      return W(0.5) * x * (W{1} + tanh(W(0.79788456080286536) * (x + W(0.044715) * x * x * x)));
    case Activation::kSilu: return x / (W{1} + exp(-x));
    case Activation::kSigmoid: return W{1} / (W{1} + exp(-x));
    case Activation::kTanh: return tanh(x);
    default: return x;
  }
}

template <int kNum, class Fn>
__device__ void each(float (&value)[kNum], Fn&& fn) {
#pragma unroll
  for (float& x : value) x = fn(x);
}

// As kernels of fp32 sums compute it, for results of type T.
template <class T, int kNum>
__device__ void activate(ops::Activation activation, float (&value)[kNum]) {
  using ops::Activation;
  switch (activation) {
    case Activation::kRelu: return each(value, [](float x) { return relu(x); });
    case Activation::kGelu: return each(value, [](float x) { return gelu_for<T>(x); });
    case Activation::kGeluTanh: return each(value, [](float x) { return gelu_tanh(x); });
    case Activation::kSilu: return each(value, [](float x) { return silu(x); });
    case Activation::kSigmoid: return each(value, [](float x) { return sigmoid(x); });
    case Activation::kTanh: return each(value, [](float x) { return tanhf(x); });
    default: return;
  }
}

}  // namespace plica::cuda
