#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "ops/op.h"
#include "runtime/core/dtype.h"

namespace plica {

// The type that reference kernels compute in: double for floats, 64 bits for integers and bool.
inline double widen(float x) { return x; }
inline double widen(double x) { return x; }
inline double widen(F16 x) { return to_float(x); }
inline double widen(BF16 x) { return to_float(x); }
template <std::integral T>
std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t> widen(T x) {
  return x;
}
template <class T>
using Wide = decltype(widen(T{}));

// The element nearest to x (floats), or its low bits (integers).
template <class T>
T narrow(Wide<T> x) {
  if constexpr (std::is_same_v<T, F16>)
    return to_f16(static_cast<float>(x));
  else if constexpr (std::is_same_v<T, BF16>)
    return to_bf16(static_cast<float>(x));
  else
    return static_cast<T>(x);
}

template <class W>
bool is_nan(W x) {
  if constexpr (std::is_floating_point_v<W>)
    return std::isnan(x);
  else
    return false;
}

// Sums and products of widened elements; integers wrap.
inline double add(double a, double b) { return a + b; }
inline double multiply(double a, double b) { return a * b; }
template <std::integral W>
W add(W a, W b) {
  return static_cast<W>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <std::integral W>
W multiply(W a, W b) {
  return static_cast<W>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// Element `at` of an operand.
template <class T>
Wide<T> read(const TensorView& x, int64_t at) {
  return widen(static_cast<const T*>(x.data)[at]);
}
template <class T>
void write(const TensorView& y, int64_t at, Wide<T> value) {
  static_cast<T*>(y.data)[at] = narrow<T>(value);
}

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

// Calls fn(TypeTag<T>{}) with an unsigned integer as large as an element: for kernels that only move data.
template <class Fn>
void visit_size(DType dtype, Fn&& fn) {
  switch (size_of(dtype)) {
    case 1: return fn(TypeTag<uint8_t>{});
    case 2: return fn(TypeTag<uint16_t>{});
    case 4: return fn(TypeTag<uint32_t>{});
    default: return fn(TypeTag<uint64_t>{});
  }
}

// Element `at` of an i32 or i64 operand.
inline int64_t read_index(const TensorView& indices, int64_t at) {
  return indices.type.dtype == DType::kI32 ? read<int32_t>(indices, at) : read<int64_t>(indices, at);
}

// `index` into an axis of `size`, negative ones counted from the end; -1, and the run's fault, where it is outside.
inline int64_t checked_index(int64_t index, int64_t size, const KernelArgs& args) {
  if (index >= -size && index < size) return index < 0 ? index + size : index;
  if (args.fault->what == nullptr) *args.fault = {"index", index, size};
  return -1;
}

}  // namespace plica
