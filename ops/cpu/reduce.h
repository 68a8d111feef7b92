#pragma once

#include <cstdint>

namespace plica::cpu {

enum class Fold : uint8_t { kSum, kMax, kMin, kProd };

// The fold of n adjacent values in f32, in several chains; NaN where one of them is. Of none: 0, -inf, inf or 1.
float fold_row(Fold fold, const float* x, int64_t n);

// y[c] = the fold of x[r * stride + c] over r < rows, for c < columns.
void fold_columns(Fold fold, const float* x, int64_t stride, int64_t rows, float* y, int64_t columns);

}  // namespace plica::cpu
