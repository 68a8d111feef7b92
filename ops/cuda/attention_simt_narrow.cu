#include "ops/cuda/attention_simt.cuh"

namespace plica::cuda::attention {

void run_simt_16(const Shape& shape, const KernelArgs& args) { launch_simt<Lanes<16, 4, 8>>(shape, args); }

// Heads of up to 24 columns, or a last tile of few keys, leave much of a whole tile's work undone.
void run_simt_32(const Shape& shape, const KernelArgs& args) {
  const int64_t left = shape.keys % Lanes<32, 4, 8>::kKeys;
  if (shape.width <= 24 || (left > 0 && left <= Lanes<32, 4, 8>::kAcross))
    return launch_simt<Lanes<32, 4, 8, true>>(shape, args);
  launch_simt<Lanes<32, 4, 8>>(shape, args);
}

}  // namespace plica::cuda::attention
