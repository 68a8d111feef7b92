#pragma once

#include "ops/step_run.h"

namespace plica::cuda::attention {

// Attention of one short sequence in 16 bits together with the product that makes its queries, keys and values and the Rotary step
// that turns them, as one launch.
extern const RunKernel projected_attention;

}  // namespace plica::cuda::attention
