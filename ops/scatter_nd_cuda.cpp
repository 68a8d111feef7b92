#include "ops/cuda/scatter.h"
#include "ops/op.h"
#include "ops/scatter_nd.h"
#include "ops/strided.h"

namespace plica {
namespace {

// Columns are the axes of y behind the R indexed ones; all have all rows of indices as candidates.
cuda::Scatter scatter_of(const ops::ScatterNd& op, const TensorType& indices, const TensorType& y) {
  cuda::Scatter scatter{.reduction = op.reduction};
  const size_t leading = indices.shape.size() - 1, depth = static_cast<size_t>(indices.shape[leading]);
  const AxisStrides of_indices = strides_in(indices, leading + 1);
  const AxisStrides dense = cuda::dense_axes(y.shape);
  scatter.tuple_rank = leading;
  scatter.num_candidates = 1;
  for (size_t i = 0; i < leading; ++i) {
    scatter.tuple_sizes[i] = indices.shape[i];
    scatter.tuple_strides[i] = of_indices[i];
    scatter.num_candidates *= indices.shape[i];
  }
  scatter.component_step = of_indices[leading];
  scatter.rank = y.shape.size();
  scatter.y_strides = strides_in(y, scatter.rank);
  scatter.num_key_axes = depth;
  scatter.update_step = 1;
  scatter.column_shares_keys = true;
  for (size_t i = 0; i < scatter.rank; ++i) {
    scatter.sizes[i] = y.shape[i];
    if (i < depth) {
      scatter.key_axes[i] = i;
    } else {
      scatter.update_strides[i] = dense[i];
      scatter.update_step *= y.shape[i];
    }
  }
  return scatter;
}

size_t scratch_last(const ops::ScatterNd& op, const Case& c) {
  return cuda::scratch_bytes_last(scatter_of(op, *c.in[1].type, *c.out[0].type));
}
size_t scratch_ordered(const ops::ScatterNd& op, const Case& c) {
  return cuda::scratch_bytes_ordered(scatter_of(op, *c.in[1].type, *c.out[0].type));
}
void run_last(const ops::ScatterNd& op, const KernelArgs& args) {
  cuda::scatter_last(scatter_of(op, args.in[1].type, args.out[0].type), args);
}
void run_ordered(const ops::ScatterNd& op, const KernelArgs& args) {
  cuda::scatter_ordered(scatter_of(op, args.in[1].type, args.out[0].type), args);
}

const char* declines_last(const ops::ScatterNd& op, const Case& c) {
  if (op.reduction != ops::ScatterReduction::kNone) return "updates are combined";
  return cuda::scatter_declines(c);
}
const char* declines_ordered(const ops::ScatterNd&, const Case& c) { return cuda::scatter_declines(c); }

constexpr Kernel kKernels[] = {
    {.name = "last",
     .declines = As<ops::ScatterNd>::fn<declines_last>,
     .scratch_bytes = As<ops::ScatterNd>::fn<scratch_last>,
     .run = As<ops::ScatterNd>::fn<run_last>,
     .in_place = 1},
    {.name = "ordered",
     .declines = As<ops::ScatterNd>::fn<declines_ordered>,
     .scratch_bytes = As<ops::ScatterNd>::fn<scratch_ordered>,
     .run = As<ops::ScatterNd>::fn<run_ordered>,
     .in_place = 1},
};

}  // namespace

constinit const Kernels scatter_nd_cuda_kernels = kKernels;

}  // namespace plica
