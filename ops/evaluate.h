#pragma once

#include <vector>

#include "ops/op.h"

namespace plica {

// The results of an operator on host tensors, by its reference kernel; views and point-wise primitives too. An absent
// optional input has no data. Quick for tiny tensors: constant folding calls it for every node of shape arithmetic.
// kInvalidModel where the types do not fit, kInvalidInput for an index outside, kUnsupported where there is no kernel.
Result<std::vector<Tensor>> evaluate(const OpDef& op, const Attrs& attrs, std::span<const TensorView> in);

// The same for constants: results of many elements by the kernel that a plan would take, where it keeps no state.
Result<std::vector<Tensor>> compute(const OpDef& op, const Attrs& attrs, std::span<const TensorView> in);

}  // namespace plica
