#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "ops/cuda/rank.h"
#include "ops/strided.h"

namespace plica::cuda {

// The quotient of n in [0, 2^31) by a divisor that the host knows: one multiplication and a shift.
struct Divider {
  uint32_t multiplier = 0, shift = 0;

  Divider() = default;
  explicit Divider(uint32_t divisor) {
    if (divisor <= 1) return;
    uint32_t log = 0;
    while ((uint64_t{1} << log) < divisor) ++log;
    multiplier = static_cast<uint32_t>(((uint64_t{1} << (31 + log)) + divisor - 1) / divisor);
    shift = log - 1;
  }
  __device__ uint32_t operator()(uint32_t n) const { return multiplier == 0 ? n : __umulhi(n, multiplier) >> shift; }
};

// How kNum operands are walked together in row-major order: neighbouring axes merged where all strides allow it, axes of
// size 1 dropped.
template <int kNum>
struct Layout {
  int rank = 0;
  bool narrow = true;  // the count is below 2^31
  int64_t count = 1;
  int64_t size[kAxes] = {};
  int64_t stride[kNum][kAxes] = {};
  Divider divider[kAxes];

  // Offsets of element `linear` in each operand, in elements.
  __device__ void offsets(int64_t linear, int64_t (&at)[kNum]) const {
#pragma unroll
    for (int n = 0; n < kNum; ++n) at[n] = 0;
    int64_t rest = linear;
#pragma unroll 1
    for (int axis = rank - 1; axis > 0; --axis) {
      const int64_t quotient = narrow ? divider[axis](static_cast<uint32_t>(rest)) : rest / size[axis];
      const int64_t index = rest - quotient * size[axis];
      rest = quotient;
#pragma unroll
      for (int n = 0; n < kNum; ++n) at[n] += index * stride[n][axis];
    }
#pragma unroll
    for (int n = 0; n < kNum; ++n) at[n] += rest * stride[n][0];
  }

  void finish() {
    count = 1;
    for (int i = 0; i < rank; ++i) count *= size[i];
    narrow = count < (int64_t{1} << 31);
    for (int i = 0; i < rank && narrow; ++i) divider[i] = Divider(static_cast<uint32_t>(size[i]));
  }
};

template <size_t kNum>
Layout<static_cast<int>(kNum)> make_layout(std::span<const int64_t> sizes,
                                           const std::array<AxisStrides, kNum>& strides) {
  Layout<static_cast<int>(kNum)> layout;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == 1) continue;
    bool merges = layout.rank > 0;
    for (size_t n = 0; n < kNum && merges; ++n)
      merges = layout.stride[n][layout.rank - 1] == strides[n][axis] * sizes[axis];
    if (!merges) layout.size[layout.rank++] = 1;
    layout.size[layout.rank - 1] *= sizes[axis];
    for (size_t n = 0; n < kNum; ++n) layout.stride[n][layout.rank - 1] = strides[n][axis];
  }
  layout.finish();
  return layout;
}

}  // namespace plica::cuda
