#include "ops/cuda/attention_wgmma.cuh"

namespace plica::cuda::attention {

void run_wgmma_f16(const Shape& shape, const Pointers& p, const WgmmaRun& run) { launch_wgmma_of<F16>(shape, p, run); }

}  // namespace plica::cuda::attention
