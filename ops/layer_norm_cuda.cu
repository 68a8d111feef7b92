#include "ops/layer_norm.h"

#include "ops/cuda/layer_norm_columns.h"
#include "ops/cuda/norm.cuh"

namespace plica {
namespace {

using Norm = cuda::NormKernels<true>;
using ops::LayerNorm;

constexpr Kernel kKernels[] = {
    {.name = "columns",
     .declines = As<LayerNorm>::fn<cuda::layer_norm_columns_declines>,
     .run = As<LayerNorm>::fn<cuda::run_layer_norm_columns>},
    {.name = "tile",
     .declines = As<LayerNorm>::fn<Norm::declines_tile<LayerNorm>>,
     .prepare = As<LayerNorm>::fn<Norm::prepare_tile<LayerNorm>>,
     .run = As<LayerNorm>::fn<Norm::run_tile<LayerNorm>>,
     .in_place = 1},
    {.name = "block",
     .declines = As<LayerNorm>::fn<cuda::rank_over_8<LayerNorm>>,
     .run = As<LayerNorm>::fn<Norm::run_block<LayerNorm>>,
     .in_place = 1},
};

}  // namespace

constinit const Kernels layer_norm_cuda_kernels = kKernels;

}  // namespace plica
