#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/op.h"
#include "ops/trilu.h"

namespace plica {
namespace {

using namespace plica::cuda;

// A thread makes one element of y. The third operand of the layout is no tensor: its offset is column - row.
template <class T>
__global__ void __launch_bounds__(kBlock) elements(const __grid_constant__ Layout<3> layout, const T* __restrict__ x,
                                                   T* __restrict__ y, bool upper, int64_t k) {
  const int64_t linear = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (linear >= layout.count) return;
  int64_t at[3];
  layout.offsets(linear, at);
  const bool kept = upper ? at[2] >= k : at[2] <= k;
  y[at[1]] = kept ? x[at[0]] : T{};
}

void run(const ops::Trilu& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const size_t rank = x.type.shape.size();
  AxisStrides diagonal{};
  diagonal[rank - 1] = 1;
  diagonal[rank - 2] = -1;
  const Layout<3> layout = make_layout<3>(x.type.shape, {strides_in(x.type, rank), strides_in(y.type, rank), diagonal});
  if (layout.count == 0) return;
  visit_size(size_of(x.type.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    elements<T><<<blocks_for(layout.count, kBlock), kBlock, 0, stream_of(args)>>>(
        layout, static_cast<const T*>(x.data), static_cast<T*>(y.data), op.upper, op.k);
  });
}

constexpr Kernel kKernels[] = {
    {.name = "elements",
     .declines = As<ops::Trilu>::fn<rank_over_8<ops::Trilu>>,
     .run = As<ops::Trilu>::fn<run>,
     .in_place = 1},
};

}  // namespace

constinit const Kernels trilu_cuda_kernels = kKernels;

}  // namespace plica
