#include <cmath>
#include <limits>

#include "ops/element.h"
#include "ops/op.h"
#include "ops/row_kernels.h"
#include "ops/softmax.h"
#include "ops/strided.h"

namespace plica {
namespace {

template <class T>
void rows(const ops::Softmax& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];  // (..., N)
  const size_t last = x.type.shape.size() - 1;
  const int64_t size = x.type.shape[last];
  const std::array strides{strides_in(x.type, last + 1), strides_in(y.type, last + 1)};
  const int64_t x_step = strides[0][last], y_step = strides[1][last];
  for_each_index<2>(std::span(x.type.shape).first(last), strides, [&](const auto& at, const AxisSizes&) {
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t n = 0; n < size; ++n) max = std::fmax(max, read<T>(x, at[0] + n * x_step));
    for (int64_t n = 0; n < size; ++n) sum += std::exp(read<T>(x, at[0] + n * x_step) - max);
    for (int64_t n = 0; n < size; ++n) {
      const double shifted = read<T>(x, at[0] + n * x_step) - max;
      write<T>(y, at[1] + n * y_step, op.log ? shifted - std::log(sum) : std::exp(shifted) / sum);
    }
  });
}

void ref(const ops::Softmax& op, const KernelArgs& args) {
  visit_float(args.in[0].type.dtype, [&](auto tag) { rows<typename decltype(tag)::type>(op, args); });
}

// Rows of adjacent f32 values, vectorised.
const char* row_declines(const ops::Softmax&, const Case& c) { return declines_rows(c); }

void row(const ops::Softmax& op, const KernelArgs& args) {
  for_each_rows(args, {}, [&](const cpu::NormRows& rows, int64_t first, int64_t last) {
    cpu::softmax_rows(rows, op.log, first, last);
  });
}

constexpr Kernel kKernels[] = {
    {.name = "row", .declines = As<ops::Softmax>::fn<row_declines>, .run = As<ops::Softmax>::fn<row>, .in_place = 1},
    {.name = "ref", .run = As<ops::Softmax>::fn<ref>},
};

}  // namespace

constinit const Kernels softmax_cpu_kernels = kKernels;

}  // namespace plica
