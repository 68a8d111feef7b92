#pragma once

#include <optional>
#include <string>

#include "plica/tensor.h"

namespace plica {

// How far a result of `dtype` may be from the exact one: |found - wanted| <= tolerance (1 + |wanted|). Zero but for floats.
double tolerance_of(DType dtype);

// The first element where `found` differs from `wanted` (of the same dtype, or f64) by more than `factor` times the
// tolerance of its dtype; nullopt where none does. NaN equals NaN. `wanted` is dense.
std::optional<std::string> disagreement(const TensorView& found, const TensorView& wanted, double factor);

}  // namespace plica
