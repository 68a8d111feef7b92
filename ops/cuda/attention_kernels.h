#pragma once

#include "ops/attention.h"
#include "ops/op.h"

// The kernels of Attention on CUDA, each in files of its own.
namespace plica::cuda::attention {

// A warp a query: any type, any width, any strides.
void run_row(const ops::Attention& op, const KernelArgs& args);

}  // namespace plica::cuda::attention
