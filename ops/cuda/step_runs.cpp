#include "ops/step_run.h"

namespace plica {

const std::span<const RunKernel> run_cuda_kernels;

}  // namespace plica
