#pragma once

#include "ops/step_run.h"

namespace plica::cuda {

// A norm and the product of bf16 of few rows that reads it, as one launch.
extern const RunKernel clusters_normed;

}  // namespace plica::cuda
