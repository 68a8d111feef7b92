#pragma once

#include <cstdint>

namespace plica::cpu {

// y = x * cos + (-upper half of x, lower half of x) * sin for one row of `width` (even) values; y may be x.
void rotate_row(const float* x, const float* cos, const float* sin, float* y, int64_t width);

}  // namespace plica::cpu
