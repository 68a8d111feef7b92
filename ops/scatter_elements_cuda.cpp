#include <algorithm>

#include "ops/cuda/scatter.h"
#include "ops/op.h"
#include "ops/scatter_elements.h"
#include "ops/strided.h"

namespace plica {
namespace {

// Columns are the other axes; a column's candidates lie along `axis` of indices and updates.
cuda::Scatter scatter_of(const ops::ScatterElements& op, const TensorType& indices, const TensorType& y) {
  cuda::Scatter scatter{.reduction = op.reduction};
  const size_t rank = y.shape.size(), axis = static_cast<size_t>(op.axis);
  const AxisStrides dense = cuda::dense_axes(indices.shape);
  scatter.tuple_rank = scatter.rank = rank;
  std::ranges::copy(indices.shape, scatter.tuple_sizes.begin());
  scatter.tuple_strides = strides_in(indices, rank);
  scatter.sizes = scatter.tuple_sizes;
  scatter.sizes[axis] = y.shape[axis];
  scatter.y_strides = strides_in(y, rank);
  scatter.first_strides = scatter.update_strides = dense;
  scatter.key_axes[0] = axis;
  scatter.num_candidates = indices.shape[axis];
  scatter.candidate_step = scatter.update_step = dense[axis];
  return scatter;
}

size_t scratch_last(const ops::ScatterElements& op, const Case& c) {
  return cuda::scratch_bytes_last(scatter_of(op, *c.in[1].type, *c.out[0].type));
}
size_t scratch_ordered(const ops::ScatterElements& op, const Case& c) {
  return cuda::scratch_bytes_ordered(scatter_of(op, *c.in[1].type, *c.out[0].type));
}
void run_last(const ops::ScatterElements& op, const KernelArgs& args) {
  cuda::scatter_last(scatter_of(op, args.in[1].type, args.out[0].type), args);
}
void run_ordered(const ops::ScatterElements& op, const KernelArgs& args) {
  cuda::scatter_ordered(scatter_of(op, args.in[1].type, args.out[0].type), args);
}

const char* declines_last(const ops::ScatterElements& op, const Case& c) {
  if (op.reduction != ops::ScatterReduction::kNone) return "updates are combined";
  return cuda::scatter_declines(c);
}
const char* declines_ordered(const ops::ScatterElements&, const Case& c) { return cuda::scatter_declines(c); }

constexpr Kernel kKernels[] = {
    {.name = "last",
     .declines = As<ops::ScatterElements>::fn<declines_last>,
     .scratch_bytes = As<ops::ScatterElements>::fn<scratch_last>,
     .run = As<ops::ScatterElements>::fn<run_last>,
     .in_place = 1},
    {.name = "ordered",
     .declines = As<ops::ScatterElements>::fn<declines_ordered>,
     .scratch_bytes = As<ops::ScatterElements>::fn<scratch_ordered>,
     .run = As<ops::ScatterElements>::fn<run_ordered>,
     .in_place = 1},
};

}  // namespace

constinit const Kernels scatter_elements_cuda_kernels = kKernels;

}  // namespace plica
