#pragma once

#include "ops/step_run.h"

namespace plica::cuda {

// A norm, the product of 16 bits that reads it, and the rotary embeddings of some of the product's columns, as one launch: norm and
// product, product and embeddings, or all of them.
extern const RunKernel normed_product;

// Its launch. A block looks `patience` times whether others have made the moments of its rows, then it makes them: they are the same.
void run_normed_product(const RunArgs& args, int patience);

}  // namespace plica::cuda
