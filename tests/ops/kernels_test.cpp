#include <gtest/gtest.h>

#include "tests/ops/cases.h"

namespace plica {
namespace {

// Every kernel in every table runs against the reference.
#define PLICA_OP(x)
#define PLICA_CPU(x) \
  TEST(Kernels, x) { expect_kernels_agree(x##_cases()); }
#define PLICA_CUDA(x)
#include "ops/op_list.inc"
#undef PLICA_OP
#undef PLICA_CPU
#undef PLICA_CUDA

}  // namespace
}  // namespace plica
