#include <cmath>

#include "ops/element.h"
#include "ops/op.h"
#include "ops/rms_norm.h"
#include "ops/row_kernels.h"
#include "ops/strided.h"

namespace plica {
namespace {

template <class T>
void rows(const ops::RmsNorm& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];  // (..., C)
  const size_t last = x.type.shape.size() - 1;
  const int64_t channels = x.type.shape[last];
  const std::array strides{strides_in(x.type, last + 1), strides_in(y.type, last + 1)};
  const int64_t x_step = strides[0][last], y_step = strides[1][last];
  const int64_t gamma_step = args.has(1) ? strides_in(args.in[1].type, 1)[0] : 0;
  for_each_index<2>(std::span(x.type.shape).first(last), strides, [&](const auto& at, const AxisSizes&) {
    double squares = 0;
    for (int64_t c = 0; c < channels; ++c) {
      const double value = read<T>(x, at[0] + c * x_step);
      squares += value * value;
    }
    const double root = std::sqrt(squares / static_cast<double>(channels) + op.eps);
    for (int64_t c = 0; c < channels; ++c) {
      double value = read<T>(x, at[0] + c * x_step) / root;
      if (args.has(1)) value *= read<T>(args.in[1], c * gamma_step);
      write<T>(y, at[1] + c * y_step, value);
    }
  });
}

void ref(const ops::RmsNorm& op, const KernelArgs& args) {
  visit_float(args.in[0].type.dtype, [&](auto tag) { rows<typename decltype(tag)::type>(op, args); });
}

// Rows of adjacent f32 values, vectorised.
const char* row_declines(const ops::RmsNorm&, const Case& c) { return declines_rows(c); }

void row(const ops::RmsNorm& op, const KernelArgs& args) {
  cpu::NormRows rows;
  rows.eps = static_cast<float>(op.eps);
  if (args.has(1)) rows.gamma = static_cast<const float*>(args.in[1].data);
  for_each_rows(args, rows, cpu::rms_norm_rows);
}

constexpr Kernel kKernels[] = {
    {.name = "row", .declines = As<ops::RmsNorm>::fn<row_declines>, .run = As<ops::RmsNorm>::fn<row>, .in_place = 1},
    {.name = "ref", .run = As<ops::RmsNorm>::fn<ref>},
};

}  // namespace

constinit const Kernels rms_norm_cpu_kernels = kKernels;

}  // namespace plica
