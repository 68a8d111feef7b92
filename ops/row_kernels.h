#pragma once

#include <algorithm>

#include "ops/cpu/norm.h"
#include "ops/cpu/threads.h"
#include "ops/leading_axes.h"
#include "ops/op.h"

namespace plica {

// What kernels on rows of adjacent f32 values need: x and y along the last axis, vectors of that axis dense.
inline const char* declines_rows(const Case& c) {
  const auto adjacent = [](const TensorType& type) {
    return type.shape.back() <= 1 || strides_in(type, type.shape.size())[type.shape.size() - 1] == 1;
  };
  for (size_t i = 0; i < c.in.size(); ++i)
    if (c.has(i) && c.in[i].type->dtype != DType::kF32) return "an operand is not f32";
  if (!adjacent(*c.in[0].type)) return "rows of x are not adjacent values";
  if (!adjacent(*c.out[0].type)) return "rows of y are not adjacent values";
  for (size_t i = 1; i < c.in.size(); ++i)
    if (c.has(i) && !is_dense(*c.in[i].type)) return "a vector of channels is not dense";
  return nullptr;
}

// Calls fn(rows, first, last) on pieces of the rows of in[0] and out[0], by the threads of the team.
template <class Fn>
void for_each_rows(const KernelArgs& args, cpu::NormRows rows, const Fn& fn) {
  const Shape& shape = args.in[0].type.shape;
  const size_t last = shape.size() - 1;
  const LeadingAxes<2> axes(std::span<const int64_t>(shape).first(last),
                            {strides_in(args.in[0].type, last + 1), strides_in(args.out[0].type, last + 1)});
  LeadingAxes<2> outer = axes;
  if (outer.rank > 0) --outer.rank;
  rows.channels = shape[last];
  const int64_t inner = axes.rank > 0 ? axes.sizes[axes.rank - 1] : 1;
  if (axes.rank > 0) rows.x_stride = axes.strides[0][axes.rank - 1], rows.y_stride = axes.strides[1][axes.rank - 1];
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 13) / std::max<int64_t>(rows.channels, 1));
  cpu::parallel_for(outer.count() * inner, grain, args.num_threads, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end;) {
      const int64_t first = row % inner, count = std::min(end - row, inner - first);
      const auto at = outer.at(row / inner);
      cpu::NormRows here = rows;
      here.x = static_cast<const float*>(args.in[0].data) + at[0];
      here.y = static_cast<float*>(args.out[0].data) + at[1];
      fn(here, first, first + count);
      row += count;
    }
  });
}

}  // namespace plica
