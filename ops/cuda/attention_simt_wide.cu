#include "ops/cuda/attention_simt.cuh"

namespace plica::cuda::attention {

void run_simt_64(const Shape& shape, const KernelArgs& args) { launch_simt<Lanes<64, 4, 4>>(shape, args); }
void run_simt_128(const Shape& shape, const KernelArgs& args) { launch_simt<Lanes<128, 4, 8>>(shape, args); }
void run_simt_256(const Shape& shape, const KernelArgs& args) { launch_simt<Lanes<256, 2, 4>>(shape, args); }

}  // namespace plica::cuda::attention
