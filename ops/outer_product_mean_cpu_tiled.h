#pragma once

#include "ops/op.h"
#include "ops/outer_product_mean.h"

// The f32 kernel of OuterProductMean: for one row i and some columns j, the outer products in a tile of the second-level cache's
// size, then their product with the weight.
namespace plica::outer_product_mean_tiled {

const char* declines(const ops::OuterProductMean& op, const Case& c);
size_t scratch_bytes(const ops::OuterProductMean& op, const Case& c);
Result<KernelState> prepare(const ops::OuterProductMean& op, const Case& c, ConstantStore& constants);
void run(const ops::OuterProductMean& op, const KernelArgs& args);

}  // namespace plica::outer_product_mean_tiled
