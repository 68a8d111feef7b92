#pragma once

#include "ops/op.h"

namespace plica {

// Bytes of all operands of a case: each element read or written once, repeated ones (stride 0) not again.
double operand_bytes(const Case& c);

// `flops_per_element` for each element of the first result, and the bytes of all operands.
Cost cost_per_element(const Case& c, double flops_per_element);

}  // namespace plica
