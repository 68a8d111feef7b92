#pragma once

#include "ops/map.h"
#include "ops/op.h"

namespace plica::cuda {

// A program that is one cast from one of f32, f16 and bf16 to another.
bool is_float_cast(const ops::Program& program, const Case& c);
void run_float_cast(const KernelArgs& args);

}  // namespace plica::cuda
