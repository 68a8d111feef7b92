#include <algorithm>
#include <cstring>

#include "ops/cpu/threads.h"
#include "ops/element.h"
#include "ops/gather.h"
#include "ops/leading_axes.h"
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

// Whether the axes from `axis` on lie one behind the other without gaps.
bool is_dense_from(const TensorType& type, size_t axis) {
  const AxisStrides strides = strides_in(type, type.shape.size());
  int64_t dense = 1;
  for (size_t k = type.shape.size(); k-- > axis; dense *= type.shape[k])
    if (type.shape[k] != 1 && strides[k] != dense) return false;
  return true;
}

// Rows: what lies behind the axis, moved whole.
const char* row_declines(const ops::Gather& op, const Case& c) {
  const TensorType &x = *c.in[0].type, &y = *c.out[0].type;
  const size_t axis = static_cast<size_t>(op.axis);
  if (!is_dense_from(x, axis + 1)) return "rows of x are not adjacent values";
  if (!is_dense_from(y, axis + c.in[1].type->shape.size())) return "rows of y are not adjacent values";
  return nullptr;
}

template <class T>
void move_rows(const ops::Gather& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &indices = args.in[1], &y = args.out[0];
  const size_t num_indices = indices.type.shape.size(), axis = static_cast<size_t>(op.axis), rank = axis + num_indices;
  const int64_t size = x.type.shape[axis];
  const AxisStrides own = strides_in(x.type, x.type.shape.size()), of_indices = strides_in(indices.type, num_indices);
  std::array<AxisStrides, 3> strides{strides_in(y.type, y.type.shape.size())};  // y, x, indices
  for (size_t i = 0; i < axis; ++i) strides[1][i] = own[i];
  for (size_t i = 0; i < num_indices; ++i) strides[2][axis + i] = of_indices[i];
  for_each_index<1>(indices.type.shape, {of_indices},
                    [&](const auto& at, const AxisSizes&) { checked_index(read_index(indices, at[0]), size, args); });

  int64_t width = 1;
  for (size_t i = axis + 1; i < x.type.shape.size(); ++i) width *= x.type.shape[i];
  const LeadingAxes<3> rows(std::span<const int64_t>(y.type.shape).first(rank), strides);
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(width, 1));
  cpu::parallel_for(rows.count(), grain, args.num_threads, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      const auto at = rows.at(row);
      T* to = static_cast<T*>(y.data) + at[0];
      int64_t index = read_index(indices, at[2]);
      if (index < 0) index += size;
      if (index < 0 || index >= size) {
        std::fill_n(to, width, T{});
        continue;
      }
      const T* from = static_cast<const T*>(x.data) + at[1] + index * own[axis];
      if (width == 1)
        *to = *from;
      else
        std::memcpy(to, from, static_cast<size_t>(width) * sizeof(T));
    }
  });
}

void row(const ops::Gather& op, const KernelArgs& args) {
  if (num_elements(args.out[0].type.shape) == 0 && num_elements(args.in[1].type.shape) == 0) return;
  visit_size(args.in[0].type.dtype, [&](auto tag) { move_rows<typename decltype(tag)::type>(op, args); });
}

constexpr Kernel kKernels[] = {
    {.name = "row", .declines = As<ops::Gather>::fn<row_declines>, .run = As<ops::Gather>::fn<row>},
    {.name = "ref", .run = As<ops::Gather>::fn<ref>},
};

}  // namespace

constinit const Kernels gather_cpu_kernels = kKernels;

}  // namespace plica
