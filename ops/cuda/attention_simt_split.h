#pragma once

#include "ops/attention.h"
#include "ops/op.h"

namespace plica::cuda::attention {

// `simt` where there are few rows: warps of a block share its rows, and split the keys. Widths up to 128; rows see all keys but for
// a mask.
const char* declines_simt_split(const ops::Attention& op, const Case& c);
void run_simt_split(const ops::Attention& op, const KernelArgs& args);

}  // namespace plica::cuda::attention
