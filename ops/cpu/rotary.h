#pragma once

#include <cstdint>

namespace plica::cpu {

// Rows of `width` (even) adjacent values, a stride apart in each operand; y may be x.
struct RotaryRows {
  const float *x = nullptr, *cos = nullptr, *sin = nullptr;
  float* y = nullptr;
  int64_t x_stride = 0, cos_stride = 0, sin_stride = 0, y_stride = 0;
  int64_t width = 0;
};

// y = x * cos + (-upper half of x, lower half of x) * sin for the first `count` rows.
void rotate_rows(const RotaryRows& rows, int64_t count);

// The same with partners side by side: y = x * cos + (-x[1], x[0], -x[3], x[2] ...) * sin.
void rotate_pairs(const RotaryRows& rows, int64_t count);

}  // namespace plica::cpu
