#include "ops/element.h"
#include "ops/op.h"
#include "ops/scatter.h"
#include "ops/scatter_nd.h"
#include "ops/strided.h"

namespace plica {
namespace {

template <class T>
void elements(const ops::ScatterNd& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &indices = args.in[1], &updates = args.in[2], &y = args.out[0];
  const size_t rank = x.type.shape.size(), leading = indices.type.shape.size() - 1;  // axes of updates from indices
  const size_t depth = static_cast<size_t>(indices.type.shape[leading]), update_rank = updates.type.shape.size();
  const AxisStrides own = strides_in(y.type, rank), of_indices = strides_in(indices.type, leading + 1);
  auto* to = static_cast<T*>(y.data);
  for_each_index<2>(x.type.shape, {strides_in(x.type, rank), own},
                    [&](const auto& at, const AxisSizes&) { to[at[1]] = static_cast<const T*>(x.data)[at[0]]; });
  std::array<AxisStrides, 3> strides{strides_in(updates.type, update_rank)};  // updates, indices, y
  for (size_t i = 0; i < update_rank; ++i) {
    if (i < leading)
      strides[1][i] = of_indices[i];
    else
      strides[2][i] = own[i - leading + depth];
  }
  for_each_index<3>(updates.type.shape, strides, [&](const auto& at, const AxisSizes&) {
    int64_t place = at[2];
    for (size_t r = 0; r < depth; ++r) {
      const int64_t index = read_index(indices, at[1] + static_cast<int64_t>(r) * of_indices[leading]);
      const int64_t row = checked_index(index, x.type.shape[r], args);
      if (row < 0) return;
      place += row * own[r];
    }
    write<T>(y, place, scattered(op.reduction, read<T>(y, place), read<T>(updates, at[0])));
  });
}

void ref(const ops::ScatterNd& op, const KernelArgs& args) {
  visit_dtype(args.in[0].type.dtype, [&](auto tag) { elements<typename decltype(tag)::type>(op, args); });
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .run = As<ops::ScatterNd>::fn<ref>},
};

}  // namespace

constinit const Kernels scatter_nd_cpu_kernels = kKernels;

}  // namespace plica
