#pragma once

#include "ops/mat_mul.h"
#include "ops/op.h"

namespace plica::cuda {

// Queues a product of any dtype and any strides with its whole epilogue, on the ordinary arithmetic units.
void run_product_tile(const ops::MatMul& op, const KernelArgs& args);

}  // namespace plica::cuda
