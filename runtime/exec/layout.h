#pragma once

#include "graph/graph.h"
#include "runtime/exec/plan.h"

namespace plica {

// Strides that the maker of `value` should write so that what follows needs no copy: where its only reader is a Transpose, those that make
// the transposed tensor dense; not for what products read with rows and columns swapped. Where that is the bias of attention, its rows
// are a whole multiple of `row_bytes` apart. Empty: dense.
Strides preferred_strides(const Graph& graph, ValueId value, int64_t row_bytes = 1);

// From the first element to behind the last one; strides are not negative.
size_t extent_bytes(const TensorType& type);

// Whether every element lies in memory of its own, as far as the strides show: an Expand's do not.
bool has_elements_apart(const TensorType& type);

// Whether two places of one buffer share a byte, as far as their strides show.
bool may_overlap(const Place& a, const Place& b);

}  // namespace plica
