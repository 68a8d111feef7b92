#include "ops/packed_weight.h"

#include "ops/cpu/gemm.h"
#include "ops/strided.h"

namespace plica {

cpu::MatrixRef last_axes(const TensorType& type) {
  const size_t rank = type.shape.size();
  const AxisStrides strides = strides_in(type, rank);
  return {nullptr, strides[rank - 2], strides[rank - 1]};
}

size_t packed_weight_bytes(int64_t n, int64_t k) { return (cpu::packed_b_bytes(n, k) + 63) / 64 * 64; }

Result<KernelState> packed_weight(const Operand& weight, int num_threads, ConstantStore& constants) {
  const int64_t n = weight.type->shape.back(), k = weight.type->shape.end()[-2];
  cpu::MatrixRef b = last_axes(*weight.type);
  std::string key = "pack_b{" + std::to_string(b.row_stride) + "," + std::to_string(b.col_stride) + "," +
                    std::to_string(k) + "x" + std::to_string(n) + "}(" + weight.constant->key + ")";
  PLICA_TRY(ConstantPtr packed, constants.get(key, [&]() -> Result<ConstantPtr> {
    PLICA_TRY(const ConstantPtr source, constants.borrowed(weight.constant));
    const auto floats = static_cast<int64_t>(packed_weight_bytes(n, k) / sizeof(float));
    PLICA_TRY(Tensor panels, Tensor::zeros(DType::kF32, {floats}));
    b.data = static_cast<const float*>(source->data);
    cpu::pack_b(b, n, k, panels.as<float>(), num_threads);
    return make_constant(std::move(panels), key);
  }));
  return KernelState(packed, packed->data);
}

}  // namespace plica
