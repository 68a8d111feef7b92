#pragma once

#include "ops/mat_mul.h"
#include "ops/op.h"

// The f32 kernel of MatMul on ops/cpu/gemm.h: b packed into panels, once and for all plans where it is a constant.
namespace plica::mat_mul_packed {

const char* declines(const ops::MatMul& op, const Case& c);
size_t scratch_bytes(const ops::MatMul& op, const Case& c);
Result<KernelState> prepare(const ops::MatMul& op, const Case& c, ConstantStore& constants);
void run(const ops::MatMul& op, const KernelArgs& args);

}  // namespace plica::mat_mul_packed
