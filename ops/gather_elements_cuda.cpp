#include "ops/cuda/indexed_read.h"
#include "ops/cuda/rank.h"
#include "ops/gather_elements.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica {
namespace {

void elements(const ops::GatherElements& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &indices = args.in[1], &y = args.out[0];
  const size_t rank = y.type.shape.size(), axis = static_cast<size_t>(op.axis);
  const AxisStrides own = strides_in(x.type, rank);
  cuda::IndexedRead read{.sizes = y.type.shape,
                         .y_strides = strides_in(y.type, rank),
                         .x_strides = own,
                         .indices_strides = strides_in(indices.type, rank)};
  read.x_strides[axis] = 0;
  read.axes[0] = {x.type.shape[axis], own[axis]};
  cuda::indexed_read(read, args);
}

constexpr Kernel kKernels[] = {
    {.name = "elements",
     .declines = As<ops::GatherElements>::fn<cuda::rank_over_8<ops::GatherElements>>,
     .run = As<ops::GatherElements>::fn<elements>},
};

}  // namespace

constinit const Kernels gather_elements_cuda_kernels = kKernels;

}  // namespace plica
