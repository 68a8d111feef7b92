#pragma once

#include <optional>

#include "graph/graph.h"
#include "ops/view.h"
#include "runtime/exec/plan.h"

namespace plica {

// What a view operator (Reshape, Transpose, Slice, Expand) makes of `base`: the same memory with another offset and other strides. Nullopt
// where a Reshape cannot be a view of it.
std::optional<Place> view_of(const Node& node, const Place& base);

}  // namespace plica
