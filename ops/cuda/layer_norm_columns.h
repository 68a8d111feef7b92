#pragma once

#include "ops/layer_norm.h"
#include "ops/op.h"

// The kernel of LayerNorm for rows that lie side by side in memory, so that their channels stand far apart: what a product over
// channels leaves.
namespace plica::cuda {

const char* layer_norm_columns_declines(const ops::LayerNorm& op, const Case& c);
void run_layer_norm_columns(const ops::LayerNorm& op, const KernelArgs& args);

}  // namespace plica::cuda
