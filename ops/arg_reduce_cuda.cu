#include "ops/arg_reduce.h"
#include "ops/cuda/row.cuh"
#include "ops/op.h"

namespace plica {
namespace {

using namespace plica::cuda;

struct Shape {
  Layout<2> outer;  // y, x
  int64_t width, step;
  bool largest, last;
};

template <class W>
struct Best {
  W value;
  int64_t index;  // -1: none yet
};

// Whether b is to be taken instead of a. NaN is more extreme than any number.
template <class W>
__device__ bool beats(const Shape& shape, const Best<W>& a, const Best<W>& b) {
  if (b.index < 0 || a.index < 0) return a.index < 0 && b.index >= 0;
  const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
  if (a_nan != b_nan) return b_nan;
  if (!a_nan && a.value != b.value) return shape.largest ? b.value > a.value : b.value < a.value;
  return shape.last ? b.index > a.index : b.index < a.index;
}

// kThreads neighbouring threads (a warp or the block) make one result.
template <int kThreads, class T>
__global__ void __launch_bounds__(kBlock)
    row(const __grid_constant__ Shape shape, const T* __restrict__ x, int64_t* __restrict__ y) {
  using W = Wide<T>;
  __shared__ Best<W> partial[kBlock / kWarp];
  const int64_t result = int64_t{blockIdx.x} * (kBlock / kThreads) + threadIdx.x / kThreads;
  const bool live = result < shape.outer.count;
  int64_t at[2];
  shape.outer.offsets(live ? result : 0, at);
  Best<W> best{W{}, -1};
  for (int64_t i = threadIdx.x % kThreads; i < shape.width; i += kThreads) {
    const Best<W> candidate{widen(x[at[1] + i * shape.step]), i};
    if (beats(shape, best, candidate)) best = candidate;
  }
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) {
    const Best<W> other{__shfl_xor_sync(0xffffffffu, best.value, step), __shfl_xor_sync(0xffffffffu, best.index, step)};
    if (beats(shape, best, other)) best = other;
  }
  if constexpr (kThreads > kWarp) {
    if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = best;
    __syncthreads();
    for (int i = 0; i < kBlock / kWarp; ++i)
      if (beats(shape, best, partial[i])) best = partial[i];
  }
  if (live && threadIdx.x % kThreads == 0) y[at[0]] = best.index;
}

void rows(const ops::ArgReduce& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const size_t rank = x.type.shape.size(), axis = static_cast<size_t>(op.axis);
  const AxisStrides of_x = strides_in(x.type, rank), of_y = strides_in(y.type, y.type.shape.size());
  AxisSizes sizes{};
  AxisStrides y_strides{};
  for (size_t i = 0, next = 0; i < rank; ++i) {
    sizes[i] = i == axis ? 1 : x.type.shape[i];
    if (i != axis) y_strides[i] = of_y[next];
    next += i != axis || op.keepdims;
  }
  const Shape shape{make_layout<2>(std::span(sizes).first(rank), {y_strides, of_x}), x.type.shape[axis], of_x[axis],
                    op.largest, op.last};
  if (shape.outer.count == 0) return;
  visit_dtype(x.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* from = static_cast<const T*>(x.data);
    auto* to = static_cast<int64_t*>(y.data);
    if (shape.width <= 1024)
      row<kWarp, T><<<blocks_for(shape.outer.count, kBlock / kWarp), kBlock, 0, stream_of(args)>>>(shape, from, to);
    else
      row<kBlock, T><<<blocks_for(shape.outer.count, 1), kBlock, 0, stream_of(args)>>>(shape, from, to);
  });
}

constexpr Kernel kKernels[] = {
    {.name = "rows",
     .declines = As<ops::ArgReduce>::fn<rank_over_8<ops::ArgReduce>>,
     .run = As<ops::ArgReduce>::fn<rows>},
};

}  // namespace

constinit const Kernels arg_reduce_cuda_kernels = kKernels;

}  // namespace plica
