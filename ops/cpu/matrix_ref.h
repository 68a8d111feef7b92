#pragma once

#include <cstdint>

namespace plica::cpu {

// A matrix of which element (i, j) is data[i * row_stride + j * col_stride]; strides may be 0 or negative.
struct MatrixRef {
  const float* data = nullptr;
  int64_t row_stride = 0, col_stride = 0;

  const float* at(int64_t i, int64_t j) const { return data + i * row_stride + j * col_stride; }
};

}  // namespace plica::cpu
