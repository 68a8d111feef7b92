#pragma once

#include <optional>

#include "ops/op.h"

namespace plica {

// Where the result of a view operator lies in the memory of its operand.
struct View {
  TensorType type;     // with strides, left out where dense
  int64_t offset = 0;  // of element (0, ..., 0), in elements from the operand's
};

// What `op` (Reshape, Transpose, Slice, Expand) makes of x. Nullopt where a Reshape cannot be a view of it.
std::optional<View> view_through(const OpDef& op, const Attrs& attrs, const TensorType& x);

// Strides left out where they say nothing.
TensorType normalised(TensorType type);

}  // namespace plica
