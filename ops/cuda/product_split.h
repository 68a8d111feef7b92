#pragma once

#include "ops/mat_mul.h"
#include "ops/op.h"

namespace plica::cuda {

// MatMul of fp32 as tf32x3, both matrices split on the way to the tensor cores (compute capability 9.0).
const char* product_split_declines(const ops::MatMul& op, const Case& c);
Result<KernelState> product_split_prepare(const ops::MatMul& op, const Case& c, ConstantStore& constants);
void run_product_split(const ops::MatMul& op, const KernelArgs& args);

}  // namespace plica::cuda
