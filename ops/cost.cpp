#include "ops/cost.h"

namespace plica {
namespace {

double bytes_of(std::span<const Operand> operands) {
  double bytes = 0;
  for (const Operand& operand : operands) {
    if (operand.type == nullptr) continue;
    const TensorType& type = *operand.type;
    auto own = static_cast<double>(size_of(type.dtype));
    for (size_t i = 0; i < type.shape.size(); ++i) {
      const bool repeated = type.shape[i] > 0 && !type.strides.empty() && type.strides[i] == 0;
      own *= repeated ? 1.0 : static_cast<double>(type.shape[i]);
    }
    bytes += own;
  }
  return bytes;
}

}  // namespace

double operand_bytes(const Case& c) { return bytes_of(c.in) + bytes_of(c.out); }

Cost cost_per_element(const Case& c, double flops_per_element) {
  return {flops_per_element * static_cast<double>(num_elements(c.out[0].type->shape)), operand_bytes(c)};
}

}  // namespace plica
