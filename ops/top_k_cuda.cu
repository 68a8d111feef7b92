#include "ops/cuda/row.cuh"
#include "ops/op.h"
#include "ops/top_k.h"

namespace plica {
namespace {

using namespace plica::cuda;

struct Shape {
  Layout<3> outer;  // x, values, indices
  int64_t width, x_step, values_step, indices_step, k;
  bool largest;
};

// Whether element i (of value a) stands before j (of value b). NaN is larger than any number.
template <class W>
__device__ bool before(const Shape& shape, W a, int64_t i, W b, int64_t j) {
  const bool a_nan = a != a, b_nan = b != b;
  const bool a_larger = a_nan ? !b_nan : a > b, b_larger = b_nan ? !a_nan : b > a;
  if (a_larger || b_larger) return a_larger == shape.largest;
  return i < j;
}

// An element's place is the number of elements before it: a thread an element, the row in shared memory kBlock elements
// at a time.
template <class T>
__global__ void __launch_bounds__(kBlock) rank(const __grid_constant__ Shape shape, const T* __restrict__ x,
                                               T* __restrict__ values, int64_t* __restrict__ indices) {
  using W = Wide<T>;
  __shared__ W part[kBlock];
  const int64_t blocks = ceil_div(shape.width, kBlock);
  int64_t at[3];
  shape.outer.offsets(blockIdx.x / blocks, at);
  const int64_t own = blockIdx.x % blocks * kBlock + threadIdx.x;
  const T element = x[at[0] + min(own, shape.width - 1) * shape.x_step];
  const W value = widen(element);
  int64_t place = 0;
  for (int64_t base = 0; base < shape.width; base += kBlock) {
    const int length = static_cast<int>(min(int64_t{kBlock}, shape.width - base));
    if (threadIdx.x < length) part[threadIdx.x] = widen(x[at[0] + (base + threadIdx.x) * shape.x_step]);
    __syncthreads();
    for (int j = 0; j < length; ++j) place += before(shape, part[j], base + j, value, own);
    __syncthreads();
  }
  if (own >= shape.width || place >= shape.k) return;
  values[at[1] + place * shape.values_step] = element;
  indices[at[2] + place * shape.indices_step] = own;
}

// A block a row: k times the first of those elements that stand behind the last one found.
template <class T>
__global__ void __launch_bounds__(kBlock) select(const __grid_constant__ Shape shape, const T* __restrict__ x,
                                                 T* __restrict__ values, int64_t* __restrict__ indices) {
  using W = Wide<T>;
  __shared__ W part_value[kBlock / kWarp];
  __shared__ int64_t part_index[kBlock / kWarp];
  int64_t at[3];
  shape.outer.offsets(blockIdx.x, at);
  W last = 0;
  int64_t last_index = -1;
  const auto first_of = [&](W& a, int64_t& i, W b, int64_t j) {
    if (j < 0 || (i >= 0 && before(shape, a, i, b, j))) return;
    a = b;
    i = j;
  };
  for (int64_t place = 0; place < shape.k; ++place) {
    W best = 0;
    int64_t best_index = -1;
    for (int64_t i = threadIdx.x; i < shape.width; i += kBlock) {
      const W value = widen(x[at[0] + i * shape.x_step]);
      if (last_index < 0 || before(shape, last, last_index, value, i)) {
        if (i != last_index) first_of(best, best_index, value, i);
      }
    }
#pragma unroll
    for (int step = kWarp / 2; step > 0; step /= 2)
      first_of(best, best_index, __shfl_xor_sync(0xffffffffu, best, step),
               __shfl_xor_sync(0xffffffffu, best_index, step));
    if (threadIdx.x % kWarp == 0) {
      part_value[threadIdx.x / kWarp] = best;
      part_index[threadIdx.x / kWarp] = best_index;
    }
    __syncthreads();
    best_index = -1;
    for (int i = 0; i < kBlock / kWarp; ++i) first_of(best, best_index, part_value[i], part_index[i]);
    last = best;
    last_index = best_index;
    if (threadIdx.x == 0) {
      values[at[1] + place * shape.values_step] = narrow<T>(best);
      indices[at[2] + place * shape.indices_step] = best_index;
    }
    __syncthreads();
  }
}

Shape shape_of(const ops::TopK& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &values = args.out[0], &indices = args.out[1];
  const size_t rank = x.type.shape.size(), axis = static_cast<size_t>(op.axis);
  const AxisStrides of_x = strides_in(x.type, rank), of_values = strides_in(values.type, rank),
                    of_indices = strides_in(indices.type, rank);
  AxisSizes sizes{};
  for (size_t i = 0; i < rank; ++i) sizes[i] = i == axis ? 1 : x.type.shape[i];
  return {make_layout<3>(std::span(sizes).first(rank), {of_x, of_values, of_indices}),
          x.type.shape[axis],
          of_x[axis],
          of_values[axis],
          of_indices[axis],
          op.k,
          op.largest};
}

void run_rank(const ops::TopK& op, const KernelArgs& args) {
  const Shape shape = shape_of(op, args);
  if (shape.outer.count == 0 || shape.k == 0) return;
  visit_dtype(args.in[0].type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    rank<T><<<blocks_for(shape.outer.count * ceil_div(shape.width, kBlock), 1), kBlock, 0, stream_of(args)>>>(
        shape, static_cast<const T*>(args.in[0].data), static_cast<T*>(args.out[0].data),
        static_cast<int64_t*>(args.out[1].data));
  });
}

void run_select(const ops::TopK& op, const KernelArgs& args) {
  const Shape shape = shape_of(op, args);
  if (shape.outer.count == 0 || shape.k == 0) return;
  visit_dtype(args.in[0].type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    select<T><<<blocks_for(shape.outer.count, 1), kBlock, 0, stream_of(args)>>>(
        shape, static_cast<const T*>(args.in[0].data), static_cast<T*>(args.out[0].data),
        static_cast<int64_t*>(args.out[1].data));
  });
}

// The work of `select` grows with k, that of `rank` with the row's length.
const char* declines_select(const ops::TopK& op, const Case& c) {
  if (const char* why = over_rank(c)) return why;
  const int64_t width = c.in[0].type->shape[static_cast<size_t>(op.axis)];
  return op.k * 64 > width ? "k is not small beside the length" : nullptr;
}

constexpr Kernel kKernels[] = {
    {.name = "select", .declines = As<ops::TopK>::fn<declines_select>, .run = As<ops::TopK>::fn<run_select>},
    {.name = "rank", .declines = As<ops::TopK>::fn<rank_over_8<ops::TopK>>, .run = As<ops::TopK>::fn<run_rank>},
};

}  // namespace

constinit const Kernels top_k_cuda_kernels = kKernels;

}  // namespace plica
