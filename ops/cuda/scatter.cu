#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/cuda/scatter.h"
#include "ops/cuda/strided_copy.h"

namespace plica::cuda {
namespace {

using ops::ScatterReduction;

// The key axes of y, outermost first.
struct Keys {
  int count;
  int64_t size[8], y_stride[8];
};

struct Tuples {
  Layout<1> layout;  // of indices
  Keys axes;
  int64_t component_step;
  bool wide;  // indices are i64
  Fault* fault;
  const char* what;
};

// A thread makes the key of one tuple.
__global__ void __launch_bounds__(kBlock)
    make_keys(const __grid_constant__ Tuples tuples, const void* __restrict__ indices, int64_t* __restrict__ keys) {
  const int64_t tuple = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (tuple >= tuples.layout.count) return;
  int64_t at[1], key = 0;
  tuples.layout.offsets(tuple, at);
  for (int r = 0; r < tuples.axes.count; ++r) {
    const int64_t index = read_index(indices, at[0] + r * tuples.component_step, tuples.wide);
    key = key * tuples.axes.size[r] + checked_index(index, tuples.axes.size[r], tuples.fault, tuples.what);
  }
  keys[tuple] = key;
}

struct Columns {
  Layout<3> layout;  // y at key 0, first candidate, first update
  Keys axes;
  int64_t num_keys, num_candidates, candidate_step, update_step;
  bool share_keys;
};

__device__ int64_t offset_of(const Keys& axes, int64_t key) {
  int64_t offset = 0;
  for (int r = axes.count - 1; r >= 0; --r) {
    offset += key % axes.size[r] * axes.y_stride[r];
    key /= axes.size[r];
  }
  return offset;
}

// A thread takes one candidate of one column. In the first launch candidates vote for their element (the later wins),
// in the second the winner is written.
template <class T, bool kVote>
__global__ void __launch_bounds__(kBlock)
    last(const __grid_constant__ Columns columns, const int64_t* __restrict__ keys, const T* __restrict__ updates,
         unsigned long long* __restrict__ winners, T* __restrict__ y) {
  const int64_t linear = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (linear >= columns.layout.count * columns.num_candidates) return;
  const int64_t j = linear / columns.layout.count, column = linear % columns.layout.count;
  int64_t at[3];
  columns.layout.offsets(column, at);
  const int64_t key = keys[at[1] + j * columns.candidate_step];
  const int64_t cell = columns.share_keys ? key : key * columns.layout.count + column;
  const auto vote = static_cast<unsigned long long>(j + 1);
  if constexpr (kVote) {
    if (!columns.share_keys || column == 0) atomicMax(winners + cell, vote);
  } else if (winners[cell] == vote) {
    y[at[0] + offset_of(columns.axes, key)] = updates[at[2] + j * columns.update_step];
  }
}

template <class W>
__device__ W scattered(ScatterReduction reduction, W element, W update) {
  switch (reduction) {
    case ScatterReduction::kAdd: return element + update;
    case ScatterReduction::kMul: return element * update;
    case ScatterReduction::kMax: return element > update || element != element ? element : update;
    case ScatterReduction::kMin: return element < update || element != element ? element : update;
    default: return update;
  }
}

// A thread owns an element of y (a column and a key) and walks over the column's candidates.
template <class T>
__global__ void __launch_bounds__(kBlock)
    ordered(const __grid_constant__ Columns columns, ScatterReduction reduction, const int64_t* __restrict__ keys,
            const T* __restrict__ updates, T* __restrict__ y) {
  const int64_t linear = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (linear >= columns.layout.count * columns.num_keys) return;
  const int64_t key = linear / columns.layout.count;
  int64_t at[3];
  columns.layout.offsets(linear % columns.layout.count, at);
  T* place = y + at[0] + offset_of(columns.axes, key);
  T element = *place;
  for (int64_t j = 0; j < columns.num_candidates; ++j)
    if (keys[at[1] + j * columns.candidate_step] == key)
      element = narrow<T>(scattered(reduction, widen(element), widen(updates[at[2] + j * columns.update_step])));
  *place = element;
}

Keys keys_of(const Scatter& scatter) {
  Keys keys{static_cast<int>(scatter.num_key_axes), {}, {}};
  for (size_t r = 0; r < scatter.num_key_axes; ++r) {
    keys.size[r] = scatter.sizes[scatter.key_axes[r]];
    keys.y_stride[r] = scatter.y_strides[scatter.key_axes[r]];
  }
  return keys;
}

Columns columns_of(const Scatter& scatter) {
  Columns columns{{},
                  keys_of(scatter),
                  1,
                  scatter.num_candidates,
                  scatter.candidate_step,
                  scatter.update_step,
                  scatter.column_shares_keys};
  AxisSizes sizes = scatter.sizes;
  for (size_t r = 0; r < scatter.num_key_axes; ++r) {
    columns.num_keys *= sizes[scatter.key_axes[r]];
    sizes[scatter.key_axes[r]] = 1;
  }
  columns.layout = make_layout<3>(std::span(sizes).first(scatter.rank),
                                  {scatter.y_strides, scatter.first_strides, scatter.update_strides});
  return columns;
}

Layout<1> tuples_of(const Scatter& scatter) {
  return make_layout<1>(std::span(scatter.tuple_sizes).first(scatter.tuple_rank), {scatter.tuple_strides});
}

size_t num_winners(const Columns& columns) {
  return static_cast<size_t>(columns.num_keys * (columns.share_keys ? 1 : columns.layout.count));
}

void copy_x(const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  if (x.data == y.data) return;
  const size_t rank = y.type.shape.size();
  strided_copy(size_of(y.type.dtype), y.type.shape, {y.data, strides_in(y.type, rank)},
               {x.data, strides_in(x.type, rank)}, args.stream);
}

// The keys, at the start of scratch; null where there is nothing to scatter.
int64_t* queue_keys(const Scatter& scatter, const Columns& columns, const KernelArgs& args) {
  const Layout<1> layout = tuples_of(scatter);
  if (layout.count == 0 || columns.layout.count == 0 || columns.num_keys == 0) return nullptr;
  auto* keys = static_cast<int64_t*>(args.scratch);
  const Tuples tuples{layout,     columns.axes, scatter.component_step, args.in[1].type.dtype == DType::kI64,
                      args.fault, kIndexFault};
  make_keys<<<blocks_for(layout.count, kBlock), kBlock, 0, stream_of(args)>>>(tuples, args.in[1].data, keys);
  return keys;
}

}  // namespace

size_t scratch_bytes_ordered(const Scatter& scatter) {
  return static_cast<size_t>(tuples_of(scatter).count) * sizeof(int64_t);
}

size_t scratch_bytes_last(const Scatter& scatter) {
  return scratch_bytes_ordered(scatter) + num_winners(columns_of(scatter)) * sizeof(int64_t);
}

void scatter_last(const Scatter& scatter, const KernelArgs& args) {
  copy_x(args);
  const Columns columns = columns_of(scatter);
  int64_t* keys = queue_keys(scatter, columns, args);
  if (keys == nullptr) return;
  auto* winners = reinterpret_cast<unsigned long long*>(keys + tuples_of(scatter).count);
  const cudaStream_t stream = stream_of(args);
  cudaMemsetAsync(winners, 0, num_winners(columns) * sizeof(int64_t), stream);
  const dim3 grid = blocks_for(columns.layout.count * columns.num_candidates, kBlock);
  visit_size(size_of(args.out[0].type.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* updates = static_cast<const T*>(args.in[2].data);
    auto* y = static_cast<T*>(args.out[0].data);
    last<T, true><<<grid, kBlock, 0, stream>>>(columns, keys, updates, winners, y);
    last<T, false><<<grid, kBlock, 0, stream>>>(columns, keys, updates, winners, y);
  });
}

void scatter_ordered(const Scatter& scatter, const KernelArgs& args) {
  copy_x(args);
  const Columns columns = columns_of(scatter);
  const int64_t* keys = queue_keys(scatter, columns, args);
  if (keys == nullptr) return;
  visit_dtype(args.out[0].type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    ordered<T><<<blocks_for(columns.layout.count * columns.num_keys, kBlock), kBlock, 0, stream_of(args)>>>(
        columns, scatter.reduction, keys, static_cast<const T*>(args.in[2].data), static_cast<T*>(args.out[0].data));
  });
}

const char* scatter_declines(const Case& c) {
  if (const char* why = over_rank(c)) return why;
  return is_dense(*c.in[2].type) ? nullptr : "updates are not dense";
}

}  // namespace plica::cuda
