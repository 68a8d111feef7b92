#include <cmath>

#include "ops/element.h"
#include "ops/layer_norm.h"
#include "ops/op.h"
#include "ops/row_kernels.h"
#include "ops/strided.h"

namespace plica {
namespace {

// Two passes a row, in double.
template <class T>
void rows(const ops::LayerNorm& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];  // (..., C)
  const size_t last = x.type.shape.size() - 1;
  const int64_t channels = x.type.shape[last];
  const std::array strides{strides_in(x.type, last + 1), strides_in(y.type, last + 1)};
  const int64_t x_step = strides[0][last], y_step = strides[1][last];
  const int64_t gamma_step = args.has(1) ? strides_in(args.in[1].type, 1)[0] : 0;
  const int64_t beta_step = args.has(2) ? strides_in(args.in[2].type, 1)[0] : 0;
  for_each_index<2>(std::span(x.type.shape).first(last), strides, [&](const auto& at, const AxisSizes&) {
    double sum = 0, squares = 0;
    for (int64_t c = 0; c < channels; ++c) sum += read<T>(x, at[0] + c * x_step);
    const double mean = sum / static_cast<double>(channels);
    for (int64_t c = 0; c < channels; ++c) {
      const double distance = read<T>(x, at[0] + c * x_step) - mean;
      squares += distance * distance;
    }
    const double deviation = std::sqrt(squares / static_cast<double>(channels) + op.eps);
    for (int64_t c = 0; c < channels; ++c) {
      double value = (read<T>(x, at[0] + c * x_step) - mean) / deviation;
      if (args.has(1)) value *= read<T>(args.in[1], c * gamma_step);
      if (args.has(2)) value += read<T>(args.in[2], c * beta_step);
      write<T>(y, at[1] + c * y_step, value);
    }
  });
}

void ref(const ops::LayerNorm& op, const KernelArgs& args) {
  visit_float(args.in[0].type.dtype, [&](auto tag) { rows<typename decltype(tag)::type>(op, args); });
}

// Rows of adjacent f32 values, vectorised.
const char* row_declines(const ops::LayerNorm&, const Case& c) { return declines_rows(c); }

void row(const ops::LayerNorm& op, const KernelArgs& args) {
  cpu::NormRows rows;
  rows.eps = static_cast<float>(op.eps);
  if (args.has(1)) rows.gamma = static_cast<const float*>(args.in[1].data);
  if (args.has(2)) rows.beta = static_cast<const float*>(args.in[2].data);
  for_each_rows(args, rows, cpu::layer_norm_rows);
}

constexpr Kernel kKernels[] = {
    {.name = "row",
     .declines = As<ops::LayerNorm>::fn<row_declines>,
     .run = As<ops::LayerNorm>::fn<row>,
     .in_place = 1},
    {.name = "ref", .run = As<ops::LayerNorm>::fn<ref>},
};

}  // namespace

constinit const Kernels layer_norm_cpu_kernels = kKernels;

}  // namespace plica
