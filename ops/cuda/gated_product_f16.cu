#include "ops/cuda/gated_product_wgmma.cuh"

namespace plica::cuda::gated {

void launch_f16(const GatedProduct& p, const Form& form, void* stream) { launch_type<F16>(p, form, stream); }

}  // namespace plica::cuda::gated
