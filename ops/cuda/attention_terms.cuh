#pragma once

#include <cfloat>

#include "ops/cuda/attention_lacking.cuh"
#include "ops/cuda/attention_shape.cuh"
#include "ops/cuda/element.cuh"

// What the tiled kernels of Attention do to scores and results beside their products.
namespace plica::cuda::attention {

constexpr float kLog2E = 1.4426950408889634f;
constexpr float kFar = 1e5f;  // a largest score beyond it may not be exact enough in the exponent to stand apart

__device__ inline float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline float sigmoid(float x) { return __fdividef(1.0f, 1.0f + exp2_approx(-kLog2E * x)); }

// Which of 32 keys a lane's row sees, a bit a key.
__device__ inline uint32_t keys_inside(int begin, int end, int first_key) {
  const auto below = [](int num) { return num <= 0 ? 0u : num >= 32 ? ~0u : (1u << num) - 1; };
  return below(end - first_key) & ~below(begin - first_key);
}

// The mask of one head.
template <class T>
struct Mask {
  const Shape& shape;
  const void* data;  // at this head

  __device__ bool by_row() const { return shape.row[kMask] != 0; }

  // What is added to the scores of a key, whatever the row.
  __device__ float added(int key) const {
    return key < shape.keys ? widen(static_cast<const T*>(data)[key * shape.step[kMask]]) : 0.0f;
  }

  // Which of 32 keys a row sees, for the bool kind. All lanes of a warp ask for the same row and get the same word.
  __device__ uint32_t seen(int row, int first_key) const {
    const int key = first_key + threadIdx.x % kWarp;
    const bool is_seen =
        key >= shape.keys || static_cast<const bool*>(data)[row * shape.row[kMask] + key * shape.step[kMask]];
    return __ballot_sync(0xffffffffu, is_seen);
  }

  // Whether nothing is added to any of 32 keys.
  __device__ bool adds_nothing(int first_key) const {
    return __all_sync(0xffffffffu, added(first_key + threadIdx.x % kWarp) == 0);
  }
};

// Where a head's results go.
template <class T>
struct Output {
  const Shape& shape;
  const T* gate;  // at this head, or null
  T* y;           // at this head
  bool gate_vectors, y_vectors;

  // Columns of a row, side by side, times the sigmoid of their gates.
  __device__ void store(const float (&sums)[kVector<T>], int row, int column) const {
    constexpr int kAccess = kVector<T>;
    using Access = Pack<T, kAccess>;
    const int left = static_cast<int>(shape.value_width) - column;
    if (left <= 0) return;
    float values[kAccess];
#pragma unroll
    for (int i = 0; i < kAccess; ++i) values[i] = sums[i];
    if (gate != nullptr) multiply_gates(values, row, column, left);
    Access access;
#pragma unroll
    for (int i = 0; i < kAccess; ++i) access.v[i] = narrow<T>(values[i]);
    T* to = y + row * shape.row[kY] + column * shape.step[kY];
    if (y_vectors && left >= kAccess) {
      *reinterpret_cast<Access*>(to) = access;
      return;
    }
#pragma unroll
    for (int i = 0; i < kAccess; ++i)
      if (i < left) to[i * shape.step[kY]] = access.v[i];
  }

 private:
  __device__ void multiply_gates(float (&values)[kVector<T>], int row, int column, int left) const {
    constexpr int kAccess = kVector<T>;
    const T* from = gate + row * shape.row[kGate] + column * shape.step[kGate];
    Pack<T, kAccess> gates{};
    if (gate_vectors && left >= kAccess) {
      gates = *reinterpret_cast<const Pack<T, kAccess>*>(from);
    } else {
#pragma unroll
      for (int i = 0; i < kAccess; ++i)
        if (i < left) gates.v[i] = from[i * shape.step[kGate]];
    }
#pragma unroll
    for (int i = 0; i < kAccess; ++i) values[i] *= sigmoid(widen(gates.v[i]));
  }
};

// What sums over the keys of a row are multiplied by: 1 / sum. Where all keys are masked those sums are zeros, or NaN, and stay so, or
// become NaN.
struct Normal {
  float factor;
  bool undefined, zero;  // weights of NaN that are to be zeros; no sums count

  __device__ Normal(const Shape& shape, float sum, bool empty)
      : factor(1.0f / (sum == 0 && shape.zero_rows != ops::ZeroRows::kNone ? 1.0f : sum)),
        undefined(isnan(sum) && shape.zero_rows == ops::ZeroRows::kUndefined),
        zero(empty || undefined) {}
  __device__ float operator()(float sum) const { return zero ? 0.0f : sum * factor; }
};

}  // namespace plica::cuda::attention
