#pragma once

#include <cstdint>

namespace plica::cpu {

// Rows of `channels` adjacent f32 values, `x_stride` and `y_stride` elements apart; y may be x.
struct NormRows {
  const float* x = nullptr;  // (rows, channels)
  float* y = nullptr;        // (rows, channels)
  int64_t channels = 0;
  int64_t x_stride = 0, y_stride = 0;
  const float* gamma = nullptr;  // (channels), optional
  const float* beta = nullptr;   // (channels), optional; not of rms_norm_rows
  float eps = 0;
};

// y = (x - mean) / sqrt(var + eps) * gamma + beta of rows [first, last). The variance is that of the differences, in a pass of its own.
void layer_norm_rows(const NormRows& rows, int64_t first, int64_t last);

// y = x / sqrt(mean(x * x) + eps) * gamma of rows [first, last).
void rms_norm_rows(const NormRows& rows, int64_t first, int64_t last);

// y = exp(x - max) / sum, or its logarithm, of rows [first, last); eps, gamma and beta are not used.
void softmax_rows(const NormRows& rows, bool log, int64_t first, int64_t last);

}  // namespace plica::cpu
