#include <cmath>

#include "ops/element.h"
#include "ops/layer_norm.h"
#include "ops/op.h"
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

constexpr Kernel kKernels[] = {
    {.name = "ref", .run = As<ops::LayerNorm>::fn<ref>},
};

}  // namespace

constinit const Kernels layer_norm_cpu_kernels = kKernels;

}  // namespace plica
