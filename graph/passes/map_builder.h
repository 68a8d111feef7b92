#pragma once

#include <span>

#include "graph/patch.h"

namespace plica {

// Limits of one program: kernels keep inputs and registers at hand.
constexpr size_t kMaxMapInputs = 8;
constexpr size_t kMaxMapInstructions = 32;

// Adds the Map that computes the last node of `group` out of what the group reads. The group holds element-wise
// primitives, each behind those that it reads. Scalar constants become immediates.
Result<ValueId> add_map(Patch& patch, std::span<const NodeId> group);

// How many inputs that Map would have.
size_t num_map_inputs(const Graph& graph, std::span<const NodeId> group);

}  // namespace plica
