#pragma once

#include "tests/harness/op_cases.h"

namespace plica {

// The table of every operator with kernels: tests/ops/<op>_test.cpp defines <op>_cases(). One that is missing does not link.
#define PLICA_OP(x)
#define PLICA_CPU(x) OpTable x##_cases();
#define PLICA_CUDA(x)
#include "ops/op_list.inc"
#undef PLICA_OP
#undef PLICA_CPU
#undef PLICA_CUDA

}  // namespace plica
