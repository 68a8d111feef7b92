#include "ops/attention.h"
#include "ops/cuda/attention_kernels.h"
#include "ops/cuda/layout.cuh"
#include "ops/op.h"

namespace plica {
namespace {

constexpr Kernel kKernels[] = {
    {.name = "row",
     .declines = As<ops::Attention>::fn<cuda::rank_over_8<ops::Attention>>,
     .run = As<ops::Attention>::fn<cuda::attention::run_row>},
};

}  // namespace

constinit const Kernels attention_cuda_kernels = kKernels;

}  // namespace plica
