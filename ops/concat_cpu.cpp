#include "ops/concat.h"
#include "ops/element.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica {
namespace {

template <class T>
void blocks(const ops::Concat& op, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const size_t rank = y.type.shape.size();
  const AxisStrides y_strides = strides_in(y.type, rank);
  auto* to = static_cast<T*>(y.data);
  for (const TensorView& x : args.in) {
    const auto* from = static_cast<const T*>(x.data);
    for_each_index<2>(x.type.shape, {strides_in(x.type, rank), y_strides},
                      [&](const auto& at, const AxisSizes&) { to[at[1]] = from[at[0]]; });
    const auto axis = static_cast<size_t>(op.axis);
    to += x.type.shape[axis] * y_strides[axis];
  }
}

void ref(const ops::Concat& op, const KernelArgs& args) {
  visit_size(args.out[0].type.dtype, [&](auto tag) { blocks<typename decltype(tag)::type>(op, args); });
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .run = As<ops::Concat>::fn<ref>},
};

}  // namespace

constinit const Kernels concat_cpu_kernels = kKernels;

}  // namespace plica
