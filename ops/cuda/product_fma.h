#pragma once

#include "ops/mat_mul.h"
#include "ops/op.h"

namespace plica::cuda {

// Small products in f32 with one b for all rows: a block makes a tile of y by multiply-adds, with the whole epilogue but a gate.
// The blocks of a tile's cluster share its depth.
const char* product_fma_declines(const ops::MatMul& op, const Case& c);
Result<KernelState> product_fma_prepare(const ops::MatMul& op, const Case& c, ConstantStore& store);
void run_product_fma(const ops::MatMul& op, const KernelArgs& args);

}  // namespace plica::cuda
