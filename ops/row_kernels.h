#pragma once

#include <algorithm>

#include "ops/cpu/norm.h"
#include "ops/cpu/threads.h"
#include "ops/element.h"
#include "ops/leading_axes.h"
#include "ops/op.h"

namespace plica {

// One row of in[0] and out[0] along the last axis, for reference kernels: computed in double.
template <class T>
struct PlainRow {
  const KernelArgs& args;
  int64_t size, x_at, y_at, x_step, y_step;
  std::array<int64_t, 3> channel_steps{};  // of gamma and beta, in[1] and in[2]

  double x(int64_t c) const { return read<T>(args.in[0], x_at + c * x_step); }
  double channel(size_t i, int64_t c) const { return read<T>(args.in[i], c * channel_steps[i]); }
  void put(int64_t c, double value) const { write<T>(args.out[0], y_at + c * y_step, value); }

  // value * gamma[c] + beta[c], where there are such.
  void put_scaled(int64_t c, double value) const {
    if (args.has(1)) value *= channel(1, c);
    if (args.has(2)) value += channel(2, c);
    put(c, value);
  }
};

// Calls fn(PlainRow) for each row, in the C++ type of their float dtype.
template <class Fn>
void for_each_plain_row(const KernelArgs& args, const Fn& fn) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const size_t last = x.type.shape.size() - 1;
  const std::array strides{strides_in(x.type, last + 1), strides_in(y.type, last + 1)};
  visit_float(x.type.dtype, [&](auto tag) {
    PlainRow<typename decltype(tag)::type> row{args, x.type.shape[last], 0, 0, strides[0][last], strides[1][last]};
    for (size_t i = 1; i < args.in.size(); ++i)
      if (args.has(i)) row.channel_steps[i] = strides_in(args.in[i].type, 1)[0];
    for_each_index<2>(std::span(x.type.shape).first(last), strides, [&](const auto& at, const AxisSizes&) {
      row.x_at = at[0];
      row.y_at = at[1];
      fn(row);
    });
  });
}

// What kernels on rows of adjacent f32 values need: x and y along the last axis, vectors of that axis dense.
template <class Op>
const char* declines_rows(const Op&, const Case& c) {
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

// A kernel on rows of adjacent f32 values with gamma and beta; kRows is a function of ops/cpu/norm.h.
template <auto kRows, class Op>
void run_norm(const Op& op, const KernelArgs& args) {
  cpu::NormRows rows;
  rows.eps = static_cast<float>(op.eps);
  if (args.has(1)) rows.gamma = static_cast<const float*>(args.in[1].data);
  if (args.has(2)) rows.beta = static_cast<const float*>(args.in[2].data);
  for_each_rows(args, rows, kRows);
}

}  // namespace plica
