#include "ops/cuda/folded_norm.h"

#include <algorithm>

#include "ops/layer_norm.h"
#include "ops/rms_norm.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica::cuda {

std::optional<FoldedNorm> folded_norm(const RunStep& norm, const RunStep& product) {
  const bool has_mean = norm.op == &layer_norm_op;
  if ((!has_mean && norm.op != &rms_norm_op) || product.op != &mat_mul_op) return std::nullopt;
  for (size_t i = 1; i < norm.in.size(); ++i)
    if (norm.c.has(i)) return std::nullopt;
  const TensorType &x = *norm.c.in[0].type, &a = *product.c.in[0].type, &b = *product.c.in[1].type;
  // Of rows of f16 the mean may be 6,000 deviations, and what the sums of products lose beside it be more than what rounding does.
  if (x.dtype != DType::kBF16 || !norm.inner[0] || norm.in[0] < 0) return std::nullopt;
  if (product.out[0] == norm.in[0] || product.in[0] != norm.out[0] ||
      product.in_offset_bytes[0] != norm.out_offset_bytes[0] || a != *norm.c.out[0].type ||
      std::count(product.in.begin(), product.in.end(), norm.out[0]) != 1)
    return std::nullopt;
  const ConstantPtr& matrix = product.c.in[1].constant;
  if (matrix == nullptr || matrix->data == nullptr || b.shape.size() != 2 || !is_dense(b)) return std::nullopt;
  const double eps = has_mean ? static_cast<const ops::LayerNorm*>(norm.attrs)->eps
                              : static_cast<const ops::RmsNorm*>(norm.attrs)->eps;
  if (eps < 1e-30) return std::nullopt;  // rows of one number are left to the norm
  return FoldedNorm{static_cast<float>(eps), has_mean};
}

std::vector<Operand> operands_without_norm(const RunStep& norm, const RunStep& product) {
  std::vector<Operand> operands(product.c.in.begin(), product.c.in.end());
  operands[0] = norm.c.in[0];
  return operands;
}

Result<ConstantPtr> column_sums(const ConstantPtr& matrix, ConstantStore& constants) {
  const std::string key = "ColumnSums(" + matrix->key + ")";
  return constants.get(key, [&]() -> Result<ConstantPtr> {
    const int64_t rows = matrix->type.shape[0], columns = matrix->type.shape[1];
    PLICA_TRY(Tensor sums, Tensor::zeros(DType::kF32, {columns}));
    auto* to = static_cast<float*>(sums.data());
    const auto* from = static_cast<const BF16*>(matrix->data);
    for (int64_t k = 0; k < rows; ++k, from += columns)
      for (int64_t n = 0; n < columns; ++n) to[n] += to_float(from[n]);
    return make_constant(std::move(sums), key);
  });
}

}  // namespace plica::cuda
