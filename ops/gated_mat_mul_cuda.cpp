#include "ops/cuda/gated_product.h"
#include "ops/cuda/rank.h"
#include "ops/op.h"

namespace plica {
namespace {

constexpr Kernel kKernels[] = {
    {.name = "wgmma",
     .declines = As<ops::GatedMatMul>::fn<cuda::gated_product_wgmma_declines>,
     .prepare = As<ops::GatedMatMul>::fn<cuda::gated_product_wgmma_prepare>,
     .run = As<ops::GatedMatMul>::fn<cuda::run_gated_product_wgmma>},
    {.name = "rows",
     .declines = As<ops::GatedMatMul>::fn<cuda::rank_over_8<ops::GatedMatMul>>,
     .run = As<ops::GatedMatMul>::fn<cuda::run_gated_product_rows>},
};

}  // namespace

constinit const Kernels gated_mat_mul_cuda_kernels = kKernels;

}  // namespace plica
