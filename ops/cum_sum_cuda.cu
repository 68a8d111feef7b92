#include "ops/cuda/row.cuh"
#include "ops/cum_sum.h"
#include "ops/op.h"

namespace plica {
namespace {

using namespace plica::cuda;

template <class T>
using Total = std::conditional_t<std::is_same_v<Wide<T>, float>, double, Wide<T>>;

struct Shape {
  Layout<2> outer;  // x, y
  int64_t width, x_step, y_step;
  bool exclusive, reverse;
};

// kThreads neighbouring threads (a warp or the block) scan one row, kThreads elements at a time, with a carry.
template <int kThreads, class T>
__global__ void __launch_bounds__(kBlock)
    scan(const __grid_constant__ Shape shape, const T* __restrict__ x, T* __restrict__ y) {
  using W = Total<T>;
  constexpr int kWarps = kBlock / kWarp;
  __shared__ W totals[kWarps];
  const int64_t row = int64_t{blockIdx.x} * (kBlock / kThreads) + threadIdx.x / kThreads;
  const bool live = row < shape.outer.count;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  int64_t at[2];
  shape.outer.offsets(live ? row : 0, at);
  W carry = 0;
  for (int64_t base = 0; base < shape.width; base += kThreads) {
    const int64_t i = base + threadIdx.x % kThreads;
    const bool inside = live && i < shape.width;
    const int64_t place = shape.reverse ? shape.width - 1 - i : i;
    const W own = inside ? static_cast<W>(widen(x[at[0] + place * shape.x_step])) : W{0};
    W sum = own;
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
      const W other = __shfl_up_sync(0xffffffffu, sum, step);
      if (lane >= step) sum += other;
    }
    W before = carry;
    if constexpr (kThreads > kWarp) {
      if (lane == kWarp - 1) totals[warp] = sum;
      __syncthreads();
      for (int w = 0; w < kWarps; ++w) {
        if (w < warp) before += totals[w];
        carry += totals[w];
      }
      __syncthreads();
    } else {
      carry += __shfl_sync(0xffffffffu, sum, kWarp - 1);
    }
    // The sum before this element comes from the neighbour, so that an infinite element does not spoil it.
    W shifted = __shfl_up_sync(0xffffffffu, sum, 1);
    if (lane == 0) shifted = 0;
    if (inside) y[at[1] + place * shape.y_step] = narrow<T>(before + (shape.exclusive ? shifted : sum));
  }
}

void rows(const ops::CumSum& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const size_t rank = x.type.shape.size(), axis = static_cast<size_t>(op.axis);
  const AxisStrides of_x = strides_in(x.type, rank), of_y = strides_in(y.type, rank);
  AxisSizes sizes{};
  for (size_t i = 0; i < rank; ++i) sizes[i] = i == axis ? 1 : x.type.shape[i];
  const Shape shape{make_layout<2>(std::span(sizes).first(rank), {of_x, of_y}),
                    x.type.shape[axis],
                    of_x[axis],
                    of_y[axis],
                    op.exclusive,
                    op.reverse};
  if (shape.outer.count == 0 || shape.width == 0) return;
  visit_dtype(x.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool> && (!std::is_integral_v<T> || sizeof(T) >= 4)) {
      const auto* from = static_cast<const T*>(x.data);
      auto* to = static_cast<T*>(y.data);
      if (shape.width <= 1024)
        scan<kWarp, T><<<blocks_for(shape.outer.count, kBlock / kWarp), kBlock, 0, stream_of(args)>>>(shape, from, to);
      else
        scan<kBlock, T><<<blocks_for(shape.outer.count, 1), kBlock, 0, stream_of(args)>>>(shape, from, to);
    }
  });
}

constexpr Kernel kKernels[] = {
    {.name = "scan", .declines = As<ops::CumSum>::fn<rank_over_8<ops::CumSum>>, .run = As<ops::CumSum>::fn<rows>},
};

}  // namespace

constinit const Kernels cum_sum_cuda_kernels = kKernels;

}  // namespace plica
