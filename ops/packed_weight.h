#pragma once

#include "ops/cpu/matrix_ref.h"
#include "ops/op.h"

namespace plica {

// A constant (k, n) matrix in the panels of ops/cpu/gemm.h, made once a model. The state's pointer is that of the first panel.
Result<KernelState> packed_weight(const Operand& weight, int num_threads, ConstantStore& constants);

// The last two axes of a tensor, without data.
cpu::MatrixRef last_axes(const TensorType& type);

size_t packed_weight_bytes(int64_t n, int64_t k);  // a multiple of 64

}  // namespace plica
