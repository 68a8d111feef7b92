#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/op.h"
#include "ops/strided.h"

namespace plica::cuda {

// One component of an index: an axis of x.
struct IndexedAxis {
  int64_t size = 0, stride = 0;
};

// y[i] = x[x_strides . i + sum over r of axes[r].stride * indices[indices_strides . i + r * component_step]], for all i
// in `sizes`: what Gather, GatherElements and GatherNd share. Strides in elements.
struct IndexedRead {
  std::span<const int64_t> sizes;
  AxisStrides y_strides{}, x_strides{}, indices_strides{};
  std::array<IndexedAxis, 8> axes{};
  int num_components = 1;
  int64_t component_step = 0;
};

// Queues it for args.in = {x, indices}, args.out = {y}.
void indexed_read(const IndexedRead& read, const KernelArgs& args);

}  // namespace plica::cuda
