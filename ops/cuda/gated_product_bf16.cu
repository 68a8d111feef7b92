#include "ops/cuda/gated_product_wgmma.cuh"

namespace plica::cuda::gated {

void launch_bf16(const GatedProduct& p, const Form& form, void* stream) { launch_type<BF16>(p, form, stream); }

}  // namespace plica::cuda::gated
