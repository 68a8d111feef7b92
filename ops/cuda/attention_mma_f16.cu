#include "ops/cuda/attention_mma.cuh"

namespace plica::cuda::attention {

void run_mma_f16(const Shape& shape, const KernelArgs& args) { launch_mma_of<Halves<F16>>(shape, args); }

}  // namespace plica::cuda::attention
