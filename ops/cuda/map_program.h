#pragma once

#include "ops/cuda/map_code.h"

namespace plica::cuda {

// Queues a translated program over args; the operands passed map_vectors_decline.
void run_map_program(const MapProgram& program, const KernelArgs& args);

}  // namespace plica::cuda
