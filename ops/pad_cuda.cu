#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/op.h"
#include "ops/pad.h"

namespace plica {
namespace {

using namespace plica::cuda;
using ops::PadMode;

struct Shape {
  int rank = 0;
  int64_t count = 1;
  int64_t size[kAxes], x_size[kAxes], before[kAxes], x_stride[kAxes], y_stride[kAxes];
  PadMode mode = PadMode::kConstant;
};

__device__ int64_t modulo(int64_t i, int64_t n) { return ((i % n) + n) % n; }

// Which element of an axis of `size` stands at place i of it and beyond; -1: the fill value.
__device__ int64_t source(PadMode mode, int64_t i, int64_t size) {
  if (i >= 0 && i < size) return i;
  switch (mode) {
    case PadMode::kEdge: return i < 0 ? 0 : size - 1;
    case PadMode::kWrap: return modulo(i, size);
    case PadMode::kReflect: {
      if (size == 1) return 0;
      const int64_t folded = modulo(i, 2 * size - 2);
      return folded < size ? folded : 2 * size - 2 - folded;
    }
    default: return -1;
  }
}

// A thread makes one element of y.
template <class T>
__global__ void __launch_bounds__(kBlock) elements(const __grid_constant__ Shape shape, const T* __restrict__ x,
                                                   const T* __restrict__ fill, T* __restrict__ y) {
  int64_t rest = int64_t{blockIdx.x} * kBlock + threadIdx.x, from = 0, to = 0;
  if (rest >= shape.count) return;
  bool filled = false;
  for (int axis = shape.rank - 1; axis >= 0; --axis) {
    const int64_t i = rest % shape.size[axis];
    rest /= shape.size[axis];
    const int64_t element = source(shape.mode, i - shape.before[axis], shape.x_size[axis]);
    filled |= element < 0;
    from += element * shape.x_stride[axis];
    to += i * shape.y_stride[axis];
  }
  if (filled)
    y[to] = fill != nullptr ? *fill : T{};
  else
    y[to] = x[from];
}

void run(const ops::Pad& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const size_t rank = x.type.shape.size();
  const AxisStrides of_x = strides_in(x.type, rank), of_y = strides_in(y.type, rank);
  Shape shape;
  shape.rank = static_cast<int>(rank);
  shape.mode = op.mode;
  for (size_t i = 0; i < rank; ++i) {
    shape.count *= shape.size[i] = y.type.shape[i];
    shape.x_size[i] = x.type.shape[i];
    shape.before[i] = op.before[i];
    shape.x_stride[i] = of_x[i];
    shape.y_stride[i] = of_y[i];
  }
  if (shape.count == 0) return;
  visit_size(size_of(x.type.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* fill = args.has(1) ? static_cast<const T*>(args.in[1].data) : nullptr;
    elements<T><<<blocks_for(shape.count, kBlock), kBlock, 0, stream_of(args)>>>(shape, static_cast<const T*>(x.data),
                                                                                 fill, static_cast<T*>(y.data));
  });
}

constexpr Kernel kKernels[] = {
    {.name = "elements", .declines = As<ops::Pad>::fn<rank_over_8<ops::Pad>>, .run = As<ops::Pad>::fn<run>},
};

}  // namespace

constinit const Kernels pad_cuda_kernels = kKernels;

}  // namespace plica
