#include "ops/attention.h"
#include "ops/cuda/attention_kernels.h"
#include "ops/cuda/attention_simt_split.h"
#include "ops/cuda/rank.h"
#include "ops/op.h"

namespace plica {
namespace {

using namespace cuda::attention;

constexpr Kernel kKernels[] = {
    {.name = "wgmma",
     .declines = As<ops::Attention>::fn<declines_wgmma>,
     .scratch_bytes = As<ops::Attention>::fn<scratch_wgmma>,
     .prepare = As<ops::Attention>::fn<prepare_wgmma>,
     .run = As<ops::Attention>::fn<run_wgmma>},
    {.name = "mma",
     .declines = As<ops::Attention>::fn<declines_mma>,
     .prepare = As<ops::Attention>::fn<prepare_mma>,
     .run = As<ops::Attention>::fn<run_mma>},
    {.name = "simt_split",
     .declines = As<ops::Attention>::fn<declines_simt_split>,
     .run = As<ops::Attention>::fn<run_simt_split>,
     .in_place = 1},  // as below
    {.name = "simt",
     .declines = As<ops::Attention>::fn<declines_simt>,
     .run = As<ops::Attention>::fn<run_simt>,
     .in_place = 1},  // a block reads its queries, of which it writes the results, once and before those
    {.name = "row",
     .declines = As<ops::Attention>::fn<cuda::rank_over_8<ops::Attention>>,
     .run = As<ops::Attention>::fn<run_row>},
};

}  // namespace

constinit const Kernels attention_cuda_kernels = kKernels;

}  // namespace plica
