#include "ops/copy.h"
#include "ops/cuda/rank.h"
#include "ops/cuda/strided_copy.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica {
namespace {

void strided(const ops::Copy&, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const size_t rank = y.type.shape.size();
  cuda::strided_copy(size_of(y.type.dtype), y.type.shape, {y.data, strides_in(y.type, rank)},
                     {x.data, strides_in(x.type, rank)}, args.stream);
}

constexpr Kernel kKernels[] = {
    {.name = "strided", .declines = As<ops::Copy>::fn<cuda::rank_over_8<ops::Copy>>, .run = As<ops::Copy>::fn<strided>},
};

}  // namespace

constinit const Kernels copy_cuda_kernels = kKernels;

}  // namespace plica
