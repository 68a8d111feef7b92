#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "runtime/core/dtype.h"

namespace plica::cuda {

// What an element is computed in: fp32 for floats of up to 32 bits, f64 for f64, 64 bits for integers and bool.
__device__ inline float widen(float x) { return x; }
__device__ inline double widen(double x) { return x; }
__device__ inline float widen(F16 x) { return __half2float(__ushort_as_half(x.bits)); }
__device__ inline float widen(BF16 x) { return __uint_as_float(uint32_t{x.bits} << 16); }
template <class T>
requires std::is_integral_v<T> __device__ inline std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t> widen(T x) {
  return x;
}

template <class T>
struct WideOf {
  using type = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
};
template <>
struct WideOf<float> {
  using type = float;
};
template <>
struct WideOf<double> {
  using type = double;
};
template <>
struct WideOf<F16> {
  using type = float;
};
template <>
struct WideOf<BF16> {
  using type = float;
};
template <class T>
using Wide = typename WideOf<T>::type;

// The element nearest to x (floats), or its low bits (integers).
template <class T, class W>
__device__ inline T narrow(W x) {
  if constexpr (std::is_same_v<T, F16>)
    return F16{__half_as_ushort(__float2half_rn(static_cast<float>(x)))};
  else if constexpr (std::is_same_v<T, BF16>)
    return BF16{__bfloat16_as_ushort(__float2bfloat16_rn(static_cast<float>(x)))};
  else
    return static_cast<T>(x);
}

// kNum elements that move in one access.
template <class T, int kNum>
struct alignas(sizeof(T) * kNum) Pack {
  T v[kNum];
};

template <class T>
constexpr int kVector = static_cast<int>(16 / sizeof(T));  // elements of a 16-byte access

// Calls fn(TypeTag<T>{}) with the C++ type of a float dtype.
template <class Fn>
void visit_float(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kF64: return fn(TypeTag<double>{});
    case DType::kF16: return fn(TypeTag<F16>{});
    case DType::kBF16: return fn(TypeTag<BF16>{});
    default: return fn(TypeTag<float>{});
  }
}

template <class Fn>
void visit_16_or_32_bits(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kF16: return fn(TypeTag<F16>{});
    case DType::kBF16: return fn(TypeTag<BF16>{});
    default: return fn(TypeTag<float>{});
  }
}

// Calls fn(TypeTag<T>{}) with an unsigned integer as large as an element: for kernels that only move data.
template <class Fn>
void visit_size(size_t bytes, Fn&& fn) {
  switch (bytes) {
    case 1: return fn(TypeTag<uint8_t>{});
    case 2: return fn(TypeTag<uint16_t>{});
    case 4: return fn(TypeTag<uint32_t>{});
    case 8: return fn(TypeTag<uint64_t>{});
    default: return fn(TypeTag<uint4>{});
  }
}

// Element `at` of indices, i32 or i64.
__device__ inline int64_t read_index(const void* indices, int64_t at, bool wide) {
  return wide ? static_cast<const int64_t*>(indices)[at] : static_cast<const int32_t*>(indices)[at];
}

}  // namespace plica::cuda
