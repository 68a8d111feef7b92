#pragma once

#include "ops/mat_mul.h"
#include "ops/op.h"

namespace plica::cuda {

// MatMul of few rows of 16-bit elements by one matrix.
const char* product_wgmma_declines(const ops::MatMul& op, const Case& c);
Result<KernelState> product_wgmma_prepare(const ops::MatMul& op, const Case& c, ConstantStore& constants);
void run_product_wgmma(const ops::MatMul& op, const KernelArgs& args);

}  // namespace plica::cuda
