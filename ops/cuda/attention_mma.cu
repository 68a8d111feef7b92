#include <cmath>

#include "ops/cuda/attention_kernels.h"
#include "ops/cuda/attention_shape.cuh"

namespace plica::cuda::attention {

const char* tiles_decline(const ops::Attention& op, const Case& c) {
  constexpr int64_t kLongest = (int64_t{1} << 31) - 1024;
  if (const char* why = over_rank(c)) return why;
  const plica::Shape &q = c.in[kQ].type->shape, &v = c.in[kV].type->shape;
  if (std::max(q.back(), v.back()) > 256) return "a head is wider than 256";
  if (q.end()[-2] > kLongest || v.end()[-2] > kLongest) return "there are too many queries or keys";
  if (!(op.scale > 1e-6 && op.scale < 1e6)) return "the scale is not a positive number of usual size";
  const bool adds_rows =
      c.has(kMask) && c.in[kMask].type->dtype != DType::kBool &&
      strides_in(*c.in[kMask].type, c.out[0].type->shape.size())[c.out[0].type->shape.size() - 2] != 0;
  if (c.has(kBias) && adds_rows) return "beside the bias stands a mask of rows that is added";
  const bool is_half = c.in[kQ].type->dtype == DType::kBF16 || c.in[kQ].type->dtype == DType::kF16;
  const bool adds_mask = c.has(kMask) && c.in[kMask].type->dtype != DType::kBool;
  if (c.precision == Precision::kFile && is_half && c.has(kBias) && adds_mask)  // T5, whose scores are not scaled
    return "a file of 16 bits adds a bias and a mask: its weights stay in fp32 without --precision bf16 or fp16";
  return nullptr;
}

const char* declines_mma(const ops::Attention& op, const Case& c) {
  const DType dtype = c.in[kQ].type->dtype;
  if (dtype == DType::kF64) return "tensor cores' sums are fp32";
  if (dtype == DType::kF32 && c.precision != Precision::kTf32 && c.precision != Precision::kTf32x3)
    return "fp32 is strict";
  if (c.device.compute_capability < 80) return "the device is older than sm_80";
  return tiles_decline(op, c);
}

Result<KernelState> prepare_mma(const ops::Attention&, const Case& c, ConstantStore&) {
  return KernelState(std::make_shared<const Precision>(c.precision));
}

void run_mma(const ops::Attention& op, const KernelArgs& args) {
  const Shape shape = shape_of(op, args);
  if (shape.heads.count == 0 || shape.rows == 0 || shape.value_width == 0) return;
  switch (args.in[kQ].type.dtype) {
    case DType::kBF16: return run_mma_bf16(shape, args);
    case DType::kF16: return run_mma_f16(shape, args);
    default: break;
  }
  if (*static_cast<const Precision*>(args.state) == Precision::kTf32) return run_mma_tf32(shape, args);
  run_mma_tf32x3(shape, args);
}

}  // namespace plica::cuda::attention
