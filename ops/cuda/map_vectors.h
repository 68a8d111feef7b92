#pragma once

#include "ops/op.h"

namespace plica::cuda {

// Why the operands of a case cannot be walked in vectors, or null.
const char* map_vectors_decline(const Case& c);

}  // namespace plica::cuda
