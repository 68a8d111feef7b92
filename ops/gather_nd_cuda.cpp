#include "ops/cuda/indexed_read.h"
#include "ops/cuda/rank.h"
#include "ops/gather_nd.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica {
namespace {

void elements(const ops::GatherNd& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &indices = args.in[1], &y = args.out[0];
  const size_t rank = y.type.shape.size(), x_rank = x.type.shape.size(), last = indices.type.shape.size() - 1;
  const size_t batch = static_cast<size_t>(op.batch_dims);
  const auto num_components = static_cast<size_t>(indices.type.shape[last]);
  const AxisStrides own = strides_in(x.type, x_rank), of_indices = strides_in(indices.type, last + 1);
  cuda::IndexedRead read{.sizes = y.type.shape, .y_strides = strides_in(y.type, rank)};
  for (size_t i = 0; i < rank; ++i) {
    if (i < last) read.indices_strides[i] = of_indices[i];
    if (i < batch) read.x_strides[i] = own[i];
    if (i >= last) read.x_strides[i] = own[batch + num_components + i - last];
  }
  read.num_components = static_cast<int>(num_components);
  read.component_step = of_indices[last];
  for (size_t r = 0; r < num_components; ++r) read.axes[r] = {x.type.shape[batch + r], own[batch + r]};
  cuda::indexed_read(read, args);
}

constexpr Kernel kKernels[] = {
    {.name = "elements",
     .declines = As<ops::GatherNd>::fn<cuda::rank_over_8<ops::GatherNd>>,
     .run = As<ops::GatherNd>::fn<elements>},
};

}  // namespace

constinit const Kernels gather_nd_cuda_kernels = kKernels;

}  // namespace plica
