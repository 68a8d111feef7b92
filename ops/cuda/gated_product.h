#pragma once

#include "ops/gated_mat_mul.h"
#include "ops/op.h"

namespace plica::cuda {

// GatedMatMul by warpgroups (compute capability 9.0): 16 bits, or fp32 where tf32 or tf32x3 is asked for.
const char* gated_product_wgmma_declines(const ops::GatedMatMul& op, const Case& c);
Result<KernelState> gated_product_wgmma_prepare(const ops::GatedMatMul& op, const Case& c, ConstantStore&);
void run_gated_product_wgmma(const ops::GatedMatMul& op, const KernelArgs& args);

// Whatever the others decline: plain, not fast.
void run_gated_product_rows(const ops::GatedMatMul& op, const KernelArgs& args);

}  // namespace plica::cuda
