#include "ops/element.h"
#include "ops/gather_elements.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica {
namespace {

template <class T>
void elements(const ops::GatherElements& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &indices = args.in[1], &y = args.out[0];
  const size_t rank = x.type.shape.size(), axis = static_cast<size_t>(op.axis);
  std::array strides{strides_in(x.type, rank), strides_in(indices.type, rank), strides_in(y.type, rank)};
  const int64_t step = strides[0][axis];
  strides[0][axis] = 0;
  const auto* from = static_cast<const T*>(x.data);
  auto* to = static_cast<T*>(y.data);
  for_each_index<3>(y.type.shape, strides, [&](const auto& at, const AxisSizes&) {
    const int64_t row = checked_index(read_index(indices, at[1]), x.type.shape[axis], args);
    to[at[2]] = row < 0 ? T{} : from[at[0] + row * step];
  });
}

void ref(const ops::GatherElements& op, const KernelArgs& args) {
  visit_size(args.in[0].type.dtype, [&](auto tag) { elements<typename decltype(tag)::type>(op, args); });
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .run = As<ops::GatherElements>::fn<ref>},
};

}  // namespace

constinit const Kernels gather_elements_cpu_kernels = kKernels;

}  // namespace plica
