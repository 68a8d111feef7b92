#pragma once

#include <array>
#include <cstdint>

#include "plica/tensor.h"
#include "runtime/core/shape.h"

namespace plica {

constexpr size_t kMaxRank = 16;

// Calls fn(offsets) for every element of `shape` in row-major order; offsets[i] is where types[i], broadcast to shape, has that element
// (in elements from its element (0, ..., 0)). Allocates nothing. For reference kernels: plain, not fast.
template <size_t kNum, class Fn>
void for_each_element(const Shape& shape, const std::array<const TensorType*, kNum>& types, Fn&& fn) {
  std::array<std::array<int64_t, kMaxRank>, kNum> strides{};
  std::array<int64_t, kMaxRank> index{};
  const size_t rank = shape.size();
  for (int64_t size : shape)
    if (size == 0) return;
  for (size_t i = 0; i < kNum; ++i) {
    const TensorType& type = *types[i];
    int64_t dense = 1;
    for (size_t k = type.shape.size(); k-- > 0;) {
      const int64_t own = type.strides.empty() ? dense : type.strides[k];
      dense *= type.shape[k];
      if (type.shape[k] != 1) strides[i][k + rank - type.shape.size()] = own;
    }
  }
  std::array<int64_t, kNum> at{};
  while (true) {
    fn(static_cast<const std::array<int64_t, kNum>&>(at));
    size_t axis = rank;
    while (axis-- > 0) {
      for (size_t i = 0; i < kNum; ++i) at[i] += strides[i][axis];
      if (++index[axis] < shape[axis]) break;
      for (size_t i = 0; i < kNum; ++i) at[i] -= strides[i][axis] * shape[axis];
      index[axis] = 0;
    }
    if (axis == static_cast<size_t>(-1)) return;
  }
}

}  // namespace plica
