#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/one_hot.h"
#include "ops/op.h"

namespace plica {
namespace {

using namespace plica::cuda;

// The class of an index in [0, depth), or -1. A float that is no integer gives none.
template <class W>
__device__ int64_t class_of(W value, int64_t depth) {
  if (value != value || value >= static_cast<W>(depth)) return -1;
  if constexpr (std::is_unsigned_v<W>) {
    return static_cast<int64_t>(value);
  } else {
    if (value < static_cast<W>(-depth)) return -1;
    const auto whole = static_cast<int64_t>(value);
    if (static_cast<W>(whole) != value) return -1;
    return whole < 0 ? whole + depth : whole;
  }
}

// A thread makes one element of y. The third operand of the layout is no tensor: its offset is the class.
template <class I, class T>
__global__ void __launch_bounds__(kBlock)
    elements(const __grid_constant__ Layout<3> layout, int64_t depth, const I* __restrict__ indices,
             const T* __restrict__ values, int64_t on, T* __restrict__ y) {
  const int64_t linear = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (linear >= layout.count) return;
  int64_t at[3];
  layout.offsets(linear, at);
  y[at[0]] = values[class_of(widen(indices[at[1]]), depth) == at[2] ? on : 0];
}

void run(const ops::OneHot& op, const KernelArgs& args) {
  const TensorView &indices = args.in[0], &values = args.in[1], &y = args.out[0];
  const size_t rank = y.type.shape.size(), axis = static_cast<size_t>(op.axis);
  const AxisStrides of_indices = strides_in(indices.type, rank - 1);
  AxisStrides repeated{}, classes{};
  for (size_t i = 0; i < rank; ++i) repeated[i] = i == axis ? 0 : of_indices[i - (i > axis)];
  classes[axis] = 1;
  const Layout<3> layout = make_layout<3>(y.type.shape, {strides_in(y.type, rank), repeated, classes});
  if (layout.count == 0) return;
  visit_dtype(indices.type.dtype, [&](auto index_tag) {
    using I = typename decltype(index_tag)::type;
    visit_size(size_of(values.type.dtype), [&](auto tag) {
      using T = typename decltype(tag)::type;
      elements<I, T><<<blocks_for(layout.count, kBlock), kBlock, 0, stream_of(args)>>>(
          layout, op.depth, static_cast<const I*>(indices.data), static_cast<const T*>(values.data),
          strides_in(values.type, 1)[0], static_cast<T*>(y.data));
    });
  });
}

constexpr Kernel kKernels[] = {
    {.name = "elements", .declines = As<ops::OneHot>::fn<rank_over_8<ops::OneHot>>, .run = As<ops::OneHot>::fn<run>},
};

}  // namespace

constinit const Kernels one_hot_cuda_kernels = kKernels;

}  // namespace plica
