#include "ops/cuda/attention_mma.cuh"

namespace plica::cuda::attention {

void run_mma_tf32x3(const Shape& shape, const KernelArgs& args) { launch_mma_of<Tf32<true>>(shape, args); }

}  // namespace plica::cuda::attention
