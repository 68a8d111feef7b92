#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace plica::cpu {

// A copy of elements of 1, 2, 4 or 8 bytes between two strided arrays of the same sizes. Strides in elements, any sign, 0 only
// in `from`.
struct StridedCopy {
  static constexpr int kMaxRank = 16;
  int rank = 0;
  std::array<int64_t, kMaxRank> sizes{}, from{}, to{};  // outermost first
};

// The same copy with fewer axes: sizes of 1 dropped, axes that lie one behind the other in both arrays joined, smallest stride
// of `to` innermost.
StridedCopy simplify(const StridedCopy& copy);

// `copy` must have been simplified.
void copy_strided(const StridedCopy& copy, size_t element_bytes, const void* from, void* to, int num_threads);

}  // namespace plica::cpu
