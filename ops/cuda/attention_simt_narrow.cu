#include "ops/cuda/attention_simt.cuh"

namespace plica::cuda::attention {

void run_simt_16(const Shape& shape, const KernelArgs& args) { launch_simt<Lanes<16, 4, 8>>(shape, args); }
void run_simt_32(const Shape& shape, const KernelArgs& args) { launch_simt<Lanes<32, 4, 8>>(shape, args); }

}  // namespace plica::cuda::attention
