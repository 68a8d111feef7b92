#include "ops/element.h"
#include "ops/gather.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica {
namespace {

template <class T>
void elements(const ops::Gather& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &indices = args.in[1], &y = args.out[0];
  const size_t rank = y.type.shape.size(), num_indices = indices.type.shape.size(), axis = static_cast<size_t>(op.axis);
  const AxisStrides own = strides_in(x.type, x.type.shape.size()), of_indices = strides_in(indices.type, num_indices);
  std::array<AxisStrides, 3> strides{strides_in(y.type, rank)};  // y, x, indices
  for (size_t i = 0; i < rank; ++i) {
    if (i < axis)
      strides[1][i] = own[i];
    else if (i < axis + num_indices)
      strides[2][i] = of_indices[i - axis];
    else
      strides[1][i] = own[i + 1 - num_indices];
  }
  const auto* from = static_cast<const T*>(x.data);
  auto* to = static_cast<T*>(y.data);
  for_each_index<3>(y.type.shape, strides, [&](const auto& at, const AxisSizes&) {
    const int64_t row = checked_index(read_index(indices, at[2]), x.type.shape[axis], args);
    to[at[0]] = row < 0 ? T{} : from[at[1] + row * own[axis]];
  });
}

void ref(const ops::Gather& op, const KernelArgs& args) {
  visit_size(args.in[0].type.dtype, [&](auto tag) { elements<typename decltype(tag)::type>(op, args); });
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .run = As<ops::Gather>::fn<ref>},
};

}  // namespace

constinit const Kernels gather_cpu_kernels = kKernels;

}  // namespace plica
