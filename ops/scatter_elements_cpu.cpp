#include <utility>

#include "ops/element.h"
#include "ops/op.h"
#include "ops/scatter.h"
#include "ops/scatter_elements.h"
#include "ops/strided.h"

namespace plica {
namespace {

template <class T>
void elements(const ops::ScatterElements& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &indices = args.in[1], &updates = args.in[2], &y = args.out[0];
  const size_t rank = x.type.shape.size(), axis = static_cast<size_t>(op.axis);
  std::array strides{strides_in(y.type, rank), strides_in(indices.type, rank), strides_in(updates.type, rank)};
  auto* to = static_cast<T*>(y.data);
  for_each_index<2>(x.type.shape, {strides_in(x.type, rank), strides[0]},
                    [&](const auto& at, const AxisSizes&) { to[at[1]] = static_cast<const T*>(x.data)[at[0]]; });
  const int64_t step = std::exchange(strides[0][axis], 0);
  for_each_index<3>(indices.type.shape, strides, [&](const auto& at, const AxisSizes&) {
    const int64_t row = checked_index(read_index(indices, at[1]), x.type.shape[axis], args);
    if (row < 0) return;
    const int64_t place = at[0] + row * step;
    write<T>(y, place, scattered(op.reduction, read<T>(y, place), read<T>(updates, at[2])));
  });
}

void ref(const ops::ScatterElements& op, const KernelArgs& args) {
  visit_dtype(args.in[0].type.dtype, [&](auto tag) { elements<typename decltype(tag)::type>(op, args); });
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .run = As<ops::ScatterElements>::fn<ref>},
};

}  // namespace

constinit const Kernels scatter_elements_cpu_kernels = kKernels;

}  // namespace plica
