#include "ops/cuda/element.cuh"
#include "ops/cuda/indexed_read.h"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"

namespace plica::cuda {
namespace {

struct Components {
  IndexedAxis axes[8];
  int count;
  int64_t step;
  bool wide;  // indices are i64
  Fault* fault;
  const char* what;
};

// A thread makes one element of y (of up to 16 bytes). Operands of the layout: y, x, indices.
template <class T>
__global__ void __launch_bounds__(kBlock)
    elements(const __grid_constant__ Layout<3> layout, const __grid_constant__ Components components, T* __restrict__ y,
             const T* __restrict__ x, const void* __restrict__ indices) {
  const int64_t linear = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (linear >= layout.count) return;
  int64_t at[3];
  layout.offsets(linear, at);
  int64_t from = at[1];
  for (int r = 0; r < components.count; ++r) {
    const int64_t index = read_index(indices, at[2] + r * components.step, components.wide);
    from +=
        components.axes[r].stride * checked_index(index, components.axes[r].size, components.fault, components.what);
  }
  y[at[0]] = x[from];
}

// Elements of 16 bytes where the innermost axis is contiguous in both and not indexed.
size_t widen_elements(Layout<3>& layout, Components& components, size_t element_bytes, const void* y, const void* x) {
  const int last = layout.rank - 1;
  for (size_t bytes = 16; bytes > element_bytes; bytes /= 2) {
    const auto ratio = static_cast<int64_t>(bytes / element_bytes);
    if (last < 0 || layout.stride[0][last] != 1 || layout.stride[1][last] != 1 || layout.stride[2][last] != 0) break;
    bool fits = layout.size[last] % ratio == 0 && is_aligned(y, bytes) && is_aligned(x, bytes);
    for (int i = 0; i < last; ++i) fits &= layout.stride[0][i] % ratio == 0 && layout.stride[1][i] % ratio == 0;
    for (int r = 0; r < components.count; ++r) fits &= components.axes[r].stride % ratio == 0;
    if (!fits) continue;
    for (int i = 0; i < last; ++i) {
      layout.stride[0][i] /= ratio;
      layout.stride[1][i] /= ratio;
    }
    for (int r = 0; r < components.count; ++r) components.axes[r].stride /= ratio;
    layout.size[last] /= ratio;
    layout.finish();
    return bytes;
  }
  return element_bytes;
}

}  // namespace

void indexed_read(const IndexedRead& read, const KernelArgs& args) {
  const TensorView &x = args.in[0], &indices = args.in[1], &y = args.out[0];
  Layout<3> layout = make_layout<3>(read.sizes, {read.y_strides, read.x_strides, read.indices_strides});
  if (layout.count == 0) return;
  Components components{{},         read.num_components, read.component_step, indices.type.dtype == DType::kI64,
                        args.fault, kIndexFault};
  for (int r = 0; r < read.num_components; ++r) components.axes[r] = read.axes[static_cast<size_t>(r)];
  const size_t bytes = widen_elements(layout, components, size_of(y.type.dtype), y.data, x.data);
  visit_size(bytes, [&](auto tag) {
    using T = typename decltype(tag)::type;
    elements<T><<<blocks_for(layout.count, kBlock), kBlock, 0, stream_of(args)>>>(
        layout, components, static_cast<T*>(y.data), static_cast<const T*>(x.data), indices.data);
  });
}

}  // namespace plica::cuda
