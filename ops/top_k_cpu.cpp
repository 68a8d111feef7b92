#include <algorithm>
#include <numeric>
#include <utility>

#include "ops/element.h"
#include "ops/op.h"
#include "ops/strided.h"
#include "ops/top_k.h"

namespace plica {
namespace {

// Sorts the indices of a lane in scratch. NaN is larger than any number.
template <class T>
void lanes(const ops::TopK& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &values = args.out[0], &indices = args.out[1];
  const size_t rank = x.type.shape.size(), axis = static_cast<size_t>(op.axis);
  AxisSizes sizes{};
  std::ranges::copy(x.type.shape, sizes.begin());
  const int64_t size = std::exchange(sizes[axis], 1);
  const std::array strides{strides_in(x.type, rank), strides_in(values.type, rank), strides_in(indices.type, rank)};
  const std::span order(static_cast<int64_t*>(args.scratch), static_cast<size_t>(size));
  for_each_index<3>(std::span(sizes).first(rank), strides, [&](const auto& at, const AxisSizes&) {
    const auto larger = [](Wide<T> a, Wide<T> b) { return is_nan(a) ? !is_nan(b) : a > b; };
    std::iota(order.begin(), order.end(), int64_t{0});
    std::ranges::sort(order, [&](int64_t i, int64_t j) {
      const Wide<T> a = read<T>(x, at[0] + i * strides[0][axis]), b = read<T>(x, at[0] + j * strides[0][axis]);
      if (larger(a, b)) return op.largest;
      if (larger(b, a)) return !op.largest;
      return i < j;
    });
    for (int64_t k = 0; k < op.k; ++k) {
      const int64_t i = order[static_cast<size_t>(k)];
      write<T>(values, at[1] + k * strides[1][axis], read<T>(x, at[0] + i * strides[0][axis]));
      write<int64_t>(indices, at[2] + k * strides[2][axis], i);
    }
  });
}

void ref(const ops::TopK& op, const KernelArgs& args) {
  visit_dtype(args.in[0].type.dtype, [&](auto tag) { lanes<typename decltype(tag)::type>(op, args); });
}

size_t scratch_bytes(const ops::TopK& op, const Case& c) {
  return static_cast<size_t>(c.in[0].type->shape[static_cast<size_t>(op.axis)]) * sizeof(int64_t);
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .scratch_bytes = As<ops::TopK>::fn<scratch_bytes>, .run = As<ops::TopK>::fn<ref>},
};

}  // namespace

constinit const Kernels top_k_cpu_kernels = kKernels;

}  // namespace plica
