#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>

#include "plica/tensor.h"

namespace plica {

// IEEE half precision as stored; arithmetic happens in float.
struct F16 {
  uint16_t bits;
};

// The upper half of an f32.
struct BF16 {
  uint16_t bits;
};

float to_float(F16 x);
F16 to_f16(float x);  // round to nearest even; beyond 65504: infinity

inline float to_float(BF16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }
inline BF16 to_bf16(float x) {  // round to nearest even; NaN stays NaN
  const uint32_t u = std::bit_cast<uint32_t>(x);
  if ((u & 0x7fffffff) > 0x7f800000) return {static_cast<uint16_t>((u >> 16) | 0x40)};
  return {static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16)};
}

std::optional<DType> parse_dtype(std::string_view name);  // the inverse of name_of

constexpr bool is_float(DType t) { return t <= DType::kBF16; }
constexpr bool is_integer(DType t) { return t >= DType::kI8; }
constexpr bool is_unsigned(DType t) { return t >= DType::kU8; }

template <class T>
struct TypeTag {
  using type = T;
};

// Calls fn(TypeTag<T>{}) with the C++ type that stores `dtype`.
template <class Fn>
decltype(auto) visit_dtype(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kF32: return fn(TypeTag<float>{});
    case DType::kF64: return fn(TypeTag<double>{});
    case DType::kF16: return fn(TypeTag<F16>{});
    case DType::kBF16: return fn(TypeTag<BF16>{});
    case DType::kBool: return fn(TypeTag<bool>{});
    case DType::kI8: return fn(TypeTag<int8_t>{});
    case DType::kI16: return fn(TypeTag<int16_t>{});
    case DType::kI32: return fn(TypeTag<int32_t>{});
    case DType::kI64: return fn(TypeTag<int64_t>{});
    case DType::kU8: return fn(TypeTag<uint8_t>{});
    case DType::kU16: return fn(TypeTag<uint16_t>{});
    case DType::kU32: return fn(TypeTag<uint32_t>{});
    case DType::kU64: return fn(TypeTag<uint64_t>{});
  }
  __builtin_unreachable();
}

}  // namespace plica
