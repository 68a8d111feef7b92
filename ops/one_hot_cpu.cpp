#include "ops/element.h"
#include "ops/one_hot.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica {
namespace {

// The class of an element in [0, depth), or -1. A float that is no integer gives none.
int64_t class_of(const TensorView& indices, int64_t at, int64_t depth) {
  return visit_dtype(indices.type.dtype, [&](auto tag) -> int64_t {
    const auto value = read<typename decltype(tag)::type>(indices, at);
    if (is_nan(value) || value >= static_cast<decltype(value)>(depth)) return -1;
    if constexpr (std::is_unsigned_v<decltype(value)>) return static_cast<int64_t>(value);
    if (value < static_cast<decltype(value)>(-depth)) return -1;
    const auto whole = static_cast<int64_t>(value);
    if (static_cast<decltype(value)>(whole) != value) return -1;
    return whole < 0 ? whole + depth : whole;
  });
}

template <class T>
void elements(const ops::OneHot& op, const KernelArgs& args) {
  const TensorView &indices = args.in[0], &y = args.out[0];
  const size_t rank = y.type.shape.size(), axis = static_cast<size_t>(op.axis);
  const AxisStrides of_indices = strides_in(indices.type, rank - 1);
  std::array strides{strides_in(y.type, rank), AxisStrides{}};
  for (size_t i = 0; i < rank; ++i) strides[1][i] = i == axis ? 0 : of_indices[i - (i > axis)];
  const auto* values = static_cast<const T*>(args.in[1].data);  // (2)
  const int64_t on = strides_in(args.in[1].type, 1)[0];
  auto* to = static_cast<T*>(y.data);
  for_each_index<2>(y.type.shape, strides, [&](const auto& at, const AxisSizes& index) {
    to[at[0]] = values[class_of(indices, at[1], op.depth) == index[axis] ? on : 0];
  });
}

void ref(const ops::OneHot& op, const KernelArgs& args) {
  visit_size(args.in[1].type.dtype, [&](auto tag) { elements<typename decltype(tag)::type>(op, args); });
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .run = As<ops::OneHot>::fn<ref>},
};

}  // namespace

constinit const Kernels one_hot_cpu_kernels = kKernels;

}  // namespace plica
