#include "ops/cuda/outer_product.h"
#include "ops/op.h"
#include "ops/outer_product_mean.h"

namespace plica {
namespace {

constexpr Kernel kKernels[] = {
    {.name = "wgmma",
     .declines = As<ops::OuterProductMean>::fn<cuda::outer_product_wgmma_declines>,
     .scratch_bytes = As<ops::OuterProductMean>::fn<cuda::outer_product_wgmma_scratch>,
     .prepare = As<ops::OuterProductMean>::fn<cuda::outer_product_wgmma_prepare>,
     .run = As<ops::OuterProductMean>::fn<cuda::run_outer_product_wgmma>,
     .in_place = 1u << 5},
    {.name = "mma",
     .declines = As<ops::OuterProductMean>::fn<cuda::outer_product_mma_declines>,
     .prepare = As<ops::OuterProductMean>::fn<cuda::outer_product_mma_prepare>,
     .run = As<ops::OuterProductMean>::fn<cuda::run_outer_product_mma>,
     .in_place = 1u << 5},
    {.name = "fma",
     .declines = As<ops::OuterProductMean>::fn<cuda::outer_product_fma_declines>,
     .scratch_bytes = As<ops::OuterProductMean>::fn<cuda::outer_product_fma_scratch>,
     .run = As<ops::OuterProductMean>::fn<cuda::run_outer_product_fma>,
     .in_place = 1u << 5},
    {.name = "pairs", .run = As<ops::OuterProductMean>::fn<cuda::run_outer_product_pairs>, .in_place = 1u << 5},
};

}  // namespace

constinit const Kernels outer_product_mean_cuda_kernels = kKernels;

}  // namespace plica
