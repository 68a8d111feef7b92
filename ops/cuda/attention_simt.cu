#include "ops/cuda/attention_simt.cuh"

namespace plica::cuda::attention {

const char* declines_simt(const ops::Attention& op, const Case& c) {
  if (c.in[kQ].type->dtype != DType::kF32) return "it is for fp32";
  return tiles_decline(op, c);
}

// The smallest width that holds q, k and v; fewer rows a lane where a device would be left half empty.
void run_simt(const ops::Attention& op, const KernelArgs& args) {
  const Shape shape = shape_of(op, args);
  if (shape.heads.count == 0 || shape.rows == 0 || shape.value_width == 0) return;
  const int64_t width = std::max(shape.width, shape.value_width);
  const bool fills = shape.rows > 32 && fills_device(shape, 128, 1);
  if (width <= 16) return fills ? run_simt_16(shape, args) : launch_simt<Lanes<16, 2, 8>>(shape, args);
  if (width <= 32) return fills ? run_simt_32(shape, args) : launch_simt<Lanes<32, 2, 8>>(shape, args);
  if (width <= 64) return fills ? run_simt_64(shape, args) : launch_simt<Lanes<64, 2, 8>>(shape, args);
  width <= 128 ? run_simt_128(shape, args) : run_simt_256(shape, args);
}

}  // namespace plica::cuda::attention
