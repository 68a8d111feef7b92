#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "ops/op.h"
#include "ops/scatter_elements.h"
#include "ops/strided.h"

namespace plica::cuda {

// What ScatterElements and ScatterNd share. A tuple of indices (one element, or a row of `indices`) gives a key: where
// it points along the key axes of y, as one number. The other axes of the part of y that updates can reach are columns.
// Operands: in = {x, indices, updates (dense)}, out = {y}.
struct Scatter {
  ops::ScatterReduction reduction = ops::ScatterReduction::kNone;

  // Tuples, in the order of their updates; key i of the scratch belongs to tuple i.
  AxisSizes tuple_sizes{};
  AxisStrides tuple_strides{};
  size_t tuple_rank = 0;
  int64_t component_step = 0;

  // The reachable part of y. Candidate j of a column is tuple first + j * candidate_step, its value
  // updates[update + j * update_step].
  AxisSizes sizes{};
  AxisStrides y_strides{}, first_strides{}, update_strides{};
  size_t rank = 0;
  std::array<size_t, 8> key_axes{};
  size_t num_key_axes = 1;
  int64_t num_candidates = 0, candidate_step = 1, update_step = 1;
  bool column_shares_keys = false;  // all columns have the same tuples
};

// Row-major strides.
inline AxisStrides dense_axes(std::span<const int64_t> sizes) {
  AxisStrides strides{};
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0; step *= sizes[i]) strides[i] = step;
  return strides;
}

size_t scratch_bytes_last(const Scatter& scatter);
size_t scratch_bytes_ordered(const Scatter& scatter);

// Queues: y = x, then each element becomes the last of its updates.
void scatter_last(const Scatter& scatter, const KernelArgs& args);

// Queues: y = x, then each element is combined with its updates in order, by one thread: no atomics on floats.
void scatter_ordered(const Scatter& scatter, const KernelArgs& args);

// Why updates cannot be taken as they are, or null.
const char* scatter_declines(const Case& c);

}  // namespace plica::cuda
