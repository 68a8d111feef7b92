#include "ops/cuda/attention_mma.cuh"

namespace plica::cuda::attention {

void run_mma_bf16(const Shape& shape, const KernelArgs& args) { launch_mma_of<Halves<BF16>>(shape, args); }

}  // namespace plica::cuda::attention
