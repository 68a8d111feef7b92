#include "ops/cuda/norm.cuh"
#include "ops/rms_norm.h"

namespace plica {
namespace {

using Norm = cuda::NormKernels<false>;
using ops::RmsNorm;

constexpr Kernel kKernels[] = {
    {.name = "tile",
     .declines = As<RmsNorm>::fn<Norm::declines_tile<RmsNorm>>,
     .prepare = As<RmsNorm>::fn<Norm::prepare_tile<RmsNorm>>,
     .run = As<RmsNorm>::fn<Norm::run_tile<RmsNorm>>,
     .in_place = 1},
    {.name = "block",
     .declines = As<RmsNorm>::fn<cuda::rank_over_8<RmsNorm>>,
     .run = As<RmsNorm>::fn<Norm::run_block<RmsNorm>>,
     .in_place = 1},
};

}  // namespace

constinit const Kernels rms_norm_cuda_kernels = kKernels;

}  // namespace plica
