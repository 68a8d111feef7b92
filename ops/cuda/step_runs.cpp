#include "ops/cuda/attention_turned.h"
#include "ops/step_run.h"

namespace plica {
namespace {

const RunKernel kKernels[] = {cuda::attention::turned_attention};

}  // namespace

const std::span<const RunKernel> run_cuda_kernels = kKernels;

}  // namespace plica
