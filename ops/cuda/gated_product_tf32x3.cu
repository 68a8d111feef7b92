#include "ops/cuda/gated_product_wgmma.cuh"

namespace plica::cuda::gated {

void launch_tf32x3(const GatedProduct& p, const Form& form, void* stream) { launch_type<float, true>(p, form, stream); }

}  // namespace plica::cuda::gated
