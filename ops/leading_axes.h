#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "ops/strided.h"

namespace plica {

// Axes that a kernel loops over, for several operands at once: axes of one element are dropped, and axes that lie one behind the
// other in every operand are joined, so that a dense tensor has a single one. Allocates nothing.
template <size_t kNum>
struct LeadingAxes {
  size_t rank = 0;
  AxisSizes sizes{};
  std::array<AxisStrides, kNum> strides{};

  LeadingAxes(std::span<const int64_t> all_sizes, const std::array<AxisStrides, kNum>& all) {
    for (size_t k = 0; k < all_sizes.size(); ++k) {
      if (all_sizes[k] == 1) continue;
      if (rank == 0 || !continues(all_sizes[k], all, k)) sizes[rank++] = 1;
      const size_t axis = rank - 1;
      sizes[axis] *= all_sizes[k];
      for (size_t i = 0; i < kNum; ++i) strides[i][axis] = all[i][k];
    }
  }

  int64_t count() const {
    int64_t product = 1;
    for (size_t k = 0; k < rank; ++k) product *= sizes[k];
    return product;
  }

  // Where element `index`, counted in row-major order, lies in each operand.
  std::array<int64_t, kNum> at(int64_t index) const {
    std::array<int64_t, kNum> offsets{};
    for (size_t k = rank; k-- > 0;) {
      const int64_t here = index % sizes[k];
      index /= sizes[k];
      for (size_t i = 0; i < kNum; ++i) offsets[i] += here * strides[i][k];
    }
    return offsets;
  }

 private:
  // Whether axis k lies right inside the last one taken.
  bool continues(int64_t size, const std::array<AxisStrides, kNum>& all, size_t k) const {
    for (size_t i = 0; i < kNum; ++i)
      if (strides[i][rank - 1] != all[i][k] * size) return false;
    return true;
  }
};

}  // namespace plica
