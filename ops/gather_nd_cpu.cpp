#include "ops/element.h"
#include "ops/gather_nd.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica {
namespace {

template <class T>
void elements(const ops::GatherNd& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &indices = args.in[1], &y = args.out[0];
  const size_t rank = y.type.shape.size(), leading = indices.type.shape.size() - 1;  // axes of y from indices
  const size_t batch = static_cast<size_t>(op.batch_dims), depth = static_cast<size_t>(indices.type.shape[leading]);
  const AxisStrides own = strides_in(x.type, x.type.shape.size()), of_indices = strides_in(indices.type, leading + 1);
  std::array<AxisStrides, 3> strides{strides_in(y.type, rank)};  // y, x, indices
  for (size_t i = 0; i < rank; ++i) {
    if (i < batch) strides[1][i] = own[i];
    if (i < leading)
      strides[2][i] = of_indices[i];
    else
      strides[1][i] = own[i - leading + batch + depth];
  }
  const auto* from = static_cast<const T*>(x.data);
  auto* to = static_cast<T*>(y.data);
  for_each_index<3>(y.type.shape, strides, [&](const auto& at, const AxisSizes&) {
    int64_t offset = at[1];
    for (size_t r = 0; r < depth; ++r) {
      const int64_t index = read_index(indices, at[2] + static_cast<int64_t>(r) * of_indices[leading]);
      const int64_t row = checked_index(index, x.type.shape[batch + r], args);
      if (row < 0) return;
      offset += row * own[batch + r];
    }
    to[at[0]] = from[offset];
  });
}

void ref(const ops::GatherNd& op, const KernelArgs& args) {
  visit_size(args.in[0].type.dtype, [&](auto tag) { elements<typename decltype(tag)::type>(op, args); });
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .run = As<ops::GatherNd>::fn<ref>},
};

}  // namespace

constinit const Kernels gather_nd_cpu_kernels = kKernels;

}  // namespace plica
