#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/op.h"
#include "ops/row_kernels.h"
#include "ops/softmax.h"

namespace plica {
namespace {

enum Input : size_t { kX, kBias, kMask };

// Of x, bias, mask and y along the axes of y.
std::array<AxisStrides, 4> strides_of(const KernelArgs& args) {
  const size_t rank = args.out[0].type.shape.size();
  std::array<AxisStrides, 4> strides{};
  for (size_t i = 0; i < 3; ++i)
    if (args.has(i)) strides[i] = strides_in(args.in[i].type, rank);
  strides[3] = strides_in(args.out[0].type, rank);
  return strides;
}

// Three passes a row, in double.
template <class T>
void ref_row(const ops::Softmax& op, const KernelArgs& args, const std::array<int64_t, 4>& at,
             const std::array<int64_t, 4>& step) {
  const int64_t size = args.out[0].type.shape.back();
  const auto z = [&](int64_t n) {
    const double x = read<T>(args.in[kX], at[kX] + n * step[kX]);
    const double biased = args.has(kBias) ? x + read<T>(args.in[kBias], at[kBias] + n * step[kBias]) : x;
    if (!args.has(kMask)) return biased;
    const int64_t mask = at[kMask] + n * step[kMask];
    if (args.in[kMask].type.dtype == DType::kBool) return read<bool>(args.in[kMask], mask) ? biased : op.fill;
    return biased + read<T>(args.in[kMask], mask);
  };
  double max = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t n = 0; n < size; ++n) max = std::fmax(max, z(n));
  for (int64_t n = 0; n < size; ++n) sum += std::exp(z(n) - max);
  for (int64_t n = 0; n < size; ++n) {
    const double shifted = z(n) - max, y = op.log ? shifted - std::log(sum) : std::exp(shifted) / sum;
    write<T>(args.out[0], at[3] + n * step[3], op.zero_nan && std::isnan(y) ? 0 : y);
  }
}

void ref(const ops::Softmax& op, const KernelArgs& args) {
  const Shape& shape = args.out[0].type.shape;
  const size_t last = shape.size() - 1;
  const auto strides = strides_of(args);
  const std::array step{strides[0][last], strides[1][last], strides[2][last], strides[3][last]};
  visit_float(args.out[0].type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_index<4>(std::span(shape).first(last), strides,
                      [&](const auto& at, const AxisSizes&) { ref_row<T>(op, args, at, step); });
  });
}

// Rows of adjacent f32 values, vectorised.
void row(const ops::Softmax& op, const KernelArgs& args) {
  for_each_rows(args, {}, [&](const cpu::NormRows& rows, int64_t first, int64_t last) {
    cpu::softmax_rows(rows, op.log, first, last);
  });
}

const char* declines_row(const ops::Softmax& op, const Case& c) {
  if (c.has(kBias) || c.has(kMask) || op.zero_nan) return "there is a bias, a mask or NaN to be replaced";
  return declines_rows(op, c);
}

// z = x + bias of one row. Steps of 0 and 1 are loops of their own, so that they become vectors.
void add(const float* x, const float* bias, int64_t step, int64_t size, float* z) {
  if (step == 0)
    for (int64_t n = 0; n < size; ++n) z[n] = x[n] + bias[0];
  else if (step == 1)
    for (int64_t n = 0; n < size; ++n) z[n] = x[n] + bias[n];
  else
    for (int64_t n = 0; n < size; ++n) z[n] = x[n] + bias[n * step];
}

void fill_masked(const float* x, const bool* mask, int64_t step, int64_t size, float fill, float* z) {
  if (step == 1)
    for (int64_t n = 0; n < size; ++n) z[n] = mask[n] ? x[n] : fill;
  else
    for (int64_t n = 0; n < size; ++n) z[n] = mask[n * step] ? x[n] : fill;
}

// Rows of adjacent f32 values: z is written where y will stand, then the softmax works in place.
void masked_row(const ops::Softmax& op, const KernelArgs& args) {
  const Shape& shape = args.out[0].type.shape;
  const size_t last = shape.size() - 1;
  const auto strides = strides_of(args);
  const int64_t size = shape[last], bias_step = strides[kBias][last], mask_step = strides[kMask][last];
  const LeadingAxes<4> axes(std::span<const int64_t>(shape).first(last), strides);
  const bool is_bool = args.has(kMask) && args.in[kMask].type.dtype == DType::kBool;
  const auto fill = static_cast<float>(op.fill);
  const auto data = [&](size_t i) { return static_cast<const float*>(args.in[i].data); };
  const int64_t grain = std::max<int64_t>(1, (int64_t{1} << 13) / std::max<int64_t>(size, 1));
  cpu::parallel_for(axes.count(), grain, args.num_threads, [&](int64_t begin, int64_t end, int) {
    for (int64_t index = begin; index < end; ++index) {
      const auto at = axes.at(index);
      const float* z = data(kX) + at[kX];
      float* y = static_cast<float*>(args.out[0].data) + at[3];
      if (args.has(kBias)) {
        add(z, data(kBias) + at[kBias], bias_step, size, y);
        z = y;
      }
      if (is_bool) {
        fill_masked(z, static_cast<const bool*>(args.in[kMask].data) + at[kMask], mask_step, size, fill, y);
        z = y;
      } else if (args.has(kMask)) {
        add(z, data(kMask) + at[kMask], mask_step, size, y);
        z = y;
      }
      cpu::softmax_rows({.x = z, .y = y, .channels = size}, op.log, 0, 1);
      if (op.zero_nan && size > 0 && std::isnan(y[0])) std::fill(y, y + size, 0.0f);  // one NaN makes all of them NaN
    }
  });
}

const char* declines_masked_row(const ops::Softmax&, const Case& c) {
  const auto adjacent = [](const TensorType& type) {
    return type.shape.back() <= 1 || strides_in(type, type.shape.size())[type.shape.size() - 1] == 1;
  };
  if (c.in[kX].type->dtype != DType::kF32) return "x is not f32";
  if (!adjacent(*c.in[kX].type)) return "rows of x are not adjacent values";
  if (!adjacent(*c.out[0].type)) return "rows of y are not adjacent values";
  return nullptr;
}

constexpr Kernel kKernels[] = {
    {.name = "row", .declines = As<ops::Softmax>::fn<declines_row>, .run = As<ops::Softmax>::fn<row>, .in_place = 1},
    {.name = "masked_row",
     .declines = As<ops::Softmax>::fn<declines_masked_row>,
     .run = As<ops::Softmax>::fn<masked_row>,
     .in_place = 1},
    {.name = "ref", .run = As<ops::Softmax>::fn<ref>},
};

}  // namespace

constinit const Kernels softmax_cpu_kernels = kKernels;

}  // namespace plica
