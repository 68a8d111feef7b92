#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/strided.h"

namespace plica::cuda {

// One side of a copy: strides in elements.
struct CopySide {
  void* data = nullptr;
  AxisStrides strides{};
};

// Queues: `to` becomes `from`, elements of `element_bytes` (1, 2, 4, 8) over `sizes` (rank 8 at most). Merges axes, moves
// up to 16 bytes an access, and goes through shared memory where the two sides have different innermost axes.
void strided_copy(size_t element_bytes, std::span<const int64_t> sizes, CopySide to, CopySide from, void* stream);

}  // namespace plica::cuda
