#include "ops/cuda/attention_mma.cuh"

namespace plica::cuda::attention {

void run_mma_tf32(const Shape& shape, const KernelArgs& args) { launch_mma_of<Tf32<false>>(shape, args); }

}  // namespace plica::cuda::attention
