#include "ops/cuda/attention_projected.h"
#include "ops/cuda/attention_turned.h"
#include "ops/cuda/normed_rows.h"
#include "ops/cuda/product_clusters_normed.h"
#include "ops/cuda/product_normed.h"
#include "ops/cuda/small_steps.h"
#include "ops/step_run.h"

namespace plica {
namespace {

const RunKernel kKernels[] = {cuda::small_steps,
                              cuda::attention::projected_attention,
                              cuda::attention::turned_attention,
                              cuda::normed_product,
                              cuda::clusters_normed,
                              cuda::normed_rows};

}  // namespace

const std::span<const RunKernel> run_cuda_kernels = kKernels;

}  // namespace plica
