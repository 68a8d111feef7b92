#include "ops/cuda/indexed_read.h"
#include "ops/cuda/rank.h"
#include "ops/gather.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica {
namespace {

void elements(const ops::Gather& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &indices = args.in[1], &y = args.out[0];
  const size_t rank = y.type.shape.size(), num_indices = indices.type.shape.size(), axis = static_cast<size_t>(op.axis);
  const AxisStrides own = strides_in(x.type, x.type.shape.size()), of_indices = strides_in(indices.type, num_indices);
  cuda::IndexedRead read{.sizes = y.type.shape, .y_strides = strides_in(y.type, rank)};
  for (size_t i = 0; i < rank; ++i) {
    if (i < axis)
      read.x_strides[i] = own[i];
    else if (i < axis + num_indices)
      read.indices_strides[i] = of_indices[i - axis];
    else
      read.x_strides[i] = own[i + 1 - num_indices];
  }
  read.axes[0] = {x.type.shape[axis], own[axis]};
  cuda::indexed_read(read, args);
}

constexpr Kernel kKernels[] = {
    {.name = "elements",
     .declines = As<ops::Gather>::fn<cuda::rank_over_8<ops::Gather>>,
     .run = As<ops::Gather>::fn<elements>},
};

}  // namespace

constinit const Kernels gather_cuda_kernels = kKernels;

}  // namespace plica
