#pragma once

#include "ops/mat_mul.h"
#include "ops/op.h"

namespace plica::cuda {

// Products with at most 8 columns (f32, f16, bf16), which only read a: by multiply-adds in fp32 whatever the precision.
const char* product_thin_declines(const ops::MatMul& op, const Case& c);
void run_product_thin(const ops::MatMul& op, const KernelArgs& args);

}  // namespace plica::cuda
