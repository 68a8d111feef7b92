#pragma once

#include "ops/map.h"
#include "ops/op.h"

namespace plica::cuda {

// The place in hot_expressions.inc of a program whose operands are all of one of f32, f16 and bf16, computed in that dtype
// or in f32; -1 where there is none.
int find_hot(const ops::Program& program, const Case& c);

// Queues expression `index` over args; the operands passed map_vectors_decline.
void run_hot(int index, const KernelArgs& args);

}  // namespace plica::cuda
