#pragma once

#include "ops/step_run.h"

namespace plica::cuda {

// A norm of short rows and the product of few rows that reads it, as one launch.
extern const RunKernel normed_rows;

}  // namespace plica::cuda
