#pragma once

#include "ops/mat_mul.h"
#include "ops/op.h"

namespace plica::cuda {

// MatMul of many rows of 16-bit elements by one matrix, with an activation that cuBLASLt lacks.
const char* product_wgmma_tiles_declines(const ops::MatMul& op, const Case& c);
Result<KernelState> product_wgmma_tiles_prepare(const ops::MatMul& op, const Case& c, ConstantStore& constants);
void run_product_wgmma_tiles(const ops::MatMul& op, const KernelArgs& args);

}  // namespace plica::cuda
