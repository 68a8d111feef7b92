#pragma once

#include <optional>

#include "ops/step_run.h"

namespace plica::cuda {

// What is left of a norm in a product of bf16 that takes its rows as they are:
//   norm(x) @ b = scale * (x @ b - mean * column_sums), mean and scale those of a row of x.
struct FoldedNorm {
  float eps = 0;
  bool has_mean = false;  // a LayerNorm; else scale alone, by the mean square
};

// Of a norm without factors or offsets (the pass fold_norms has made them the product's) whose result the product alone reads, as its
// a and as it is. Nothing where it is none.
std::optional<FoldedNorm> folded_norm(const RunStep& norm, const RunStep& product);

// The operands of such a product with what the norm reads in place of its result.
std::vector<Operand> operands_without_norm(const RunStep& norm, const RunStep& product);

// Of a (K, N) matrix of bf16, (N) in f32; made once a model.
Result<ConstantPtr> column_sums(const ConstantPtr& matrix, ConstantStore& constants);

}  // namespace plica::cuda
