#include "ops/cuda/attention_wgmma.cuh"

namespace plica::cuda::attention {

void run_wgmma_bf16(const Shape& shape, const Pointers& p, const WgmmaRun& run) {
  launch_wgmma_of<BF16>(shape, p, run);
}

}  // namespace plica::cuda::attention
