#pragma once

#include "ops/mat_mul.h"
#include "ops/op.h"

namespace plica::cuda {

// MatMul of few rows of 16-bit elements by a matrix so large that bringing it takes the time.
const char* product_clusters_declines(const ops::MatMul& op, const Case& c);
Result<KernelState> product_clusters_prepare(const ops::MatMul& op, const Case& c, ConstantStore& constants);
void run_product_clusters(const ops::MatMul& op, const KernelArgs& args);

}  // namespace plica::cuda
