#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "plica/tensor.h"
#include "runtime/core/shape.h"

namespace plica {

constexpr size_t kMaxRank = 16;

using AxisStrides = std::array<int64_t, kMaxRank>;  // in elements, one an axis; zero where an operand is repeated
using AxisSizes = std::array<int64_t, kMaxRank>;

// The strides of `type` seen from a tensor of `rank` axes that it broadcasts to: aligned at the last axis, zero where
// its size is 1. Allocates nothing.
inline AxisStrides strides_in(const TensorType& type, size_t rank) {
  AxisStrides strides{};
  int64_t dense = 1;
  for (size_t k = type.shape.size(); k-- > 0;) {
    const int64_t own = type.strides.empty() ? dense : type.strides[k];
    dense *= type.shape[k];
    if (type.shape[k] != 1) strides[k + rank - type.shape.size()] = own;
  }
  return strides;
}

// Calls fn(at, index) for every index into `sizes` in row-major order; at[i] is the offset that strides[i] give it.
// Allocates nothing. For reference kernels: plain, not fast.
template <size_t kNum, class Fn>
void for_each_index(std::span<const int64_t> sizes, const std::array<AxisStrides, kNum>& strides, Fn&& fn) {
  for (int64_t size : sizes)
    if (size == 0) return;
  AxisSizes index{};
  std::array<int64_t, kNum> at{};
  while (true) {
    fn(static_cast<const std::array<int64_t, kNum>&>(at), static_cast<const AxisSizes&>(index));
    size_t axis = sizes.size();
    while (axis-- > 0) {
      for (size_t i = 0; i < kNum; ++i) at[i] += strides[i][axis];
      if (++index[axis] < sizes[axis]) break;
      for (size_t i = 0; i < kNum; ++i) at[i] -= strides[i][axis] * sizes[axis];
      index[axis] = 0;
    }
    if (axis == static_cast<size_t>(-1)) return;
  }
}

// Calls fn(offsets) for every element of `shape` in row-major order; offsets[i] is where types[i], broadcast to shape,
// has that element (in elements from its element (0, ..., 0)).
template <size_t kNum, class Fn>
void for_each_element(const Shape& shape, const std::array<const TensorType*, kNum>& types, Fn&& fn) {
  std::array<AxisStrides, kNum> strides;
  for (size_t i = 0; i < kNum; ++i) strides[i] = strides_in(*types[i], shape.size());
  for_each_index<kNum>(shape, strides, [&](const std::array<int64_t, kNum>& at, const AxisSizes&) { fn(at); });
}

}  // namespace plica
