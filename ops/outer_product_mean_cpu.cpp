#include <algorithm>

#include "ops/element.h"
#include "ops/op.h"
#include "ops/outer_product_mean.h"
#include "ops/outer_product_mean_cpu_tiled.h"
#include "ops/strided.h"

namespace plica {
namespace {

// One (i, j) at a time, its C1 C2 products in scratch.
template <class T>
void pairs(const ops::OuterProductMean& op, const KernelArgs& args) {
  const TensorView &a = args.in[0], &b = args.in[1], &weight = args.in[2], &y = args.out[0];
  const int64_t depth = a.type.shape[1], left = a.type.shape[3], right = b.type.shape[3], channels = y.type.shape[3];
  const AxisStrides of_a = strides_in(a.type, 4), of_b = strides_in(b.type, 4), of_y = strides_in(y.type, 4);
  const AxisStrides of_weight = strides_in(weight.type, 2);
  const AxisStrides of_bias = args.has(3) ? strides_in(args.in[3].type, 1) : AxisStrides{};
  const AxisStrides of_norm = args.has(4) ? strides_in(args.in[4].type, 4) : AxisStrides{};
  const AxisStrides of_residual = args.has(5) ? strides_in(args.in[5].type, 4) : AxisStrides{};
  const AxisStrides a_pair{of_a[0], of_a[2], 0}, b_pair{of_b[0], 0, of_b[2]};
  const std::span products(static_cast<double*>(args.scratch), static_cast<size_t>(left * right));
  for_each_index<5>(
      std::span(y.type.shape).first(3), {a_pair, b_pair, of_y, of_norm, of_residual},
      [&](const auto& at, const AxisSizes&) {
        std::ranges::fill(products, 0.0);
        for (int64_t s = 0; s < depth; ++s)
          for (int64_t c = 0; c < left; ++c) {
            const double factor = read<T>(a, at[0] + s * of_a[1] + c * of_a[3]);
            for (int64_t e = 0; e < right; ++e)
              products[static_cast<size_t>(c * right + e)] += factor * read<T>(b, at[1] + s * of_b[1] + e * of_b[3]);
          }
        const double factor = op.scale / (args.has(4) ? read<T>(args.in[4], at[3]) : 1.0);
        for (int64_t n = 0; n < channels; ++n) {
          double sum = 0;
          for (int64_t p = 0; p < left * right; ++p)
            sum += products[static_cast<size_t>(p)] * read<T>(weight, p * of_weight[0] + n * of_weight[1]);
          sum *= factor;
          if (args.has(3)) sum += read<T>(args.in[3], n * of_bias[0]);
          if (args.has(5)) sum += read<T>(args.in[5], at[4] + n * of_residual[3]);
          write<T>(y, at[2] + n * of_y[3], sum);
        }
      });
}

void ref(const ops::OuterProductMean& op, const KernelArgs& args) {
  visit_float(args.in[0].type.dtype, [&](auto tag) { pairs<typename decltype(tag)::type>(op, args); });
}

size_t scratch_bytes(const ops::OuterProductMean&, const Case& c) {
  return static_cast<size_t>(c.in[2].type->shape[0]) * sizeof(double);
}

constexpr Kernel kKernels[] = {
    {.name = "tiled",
     .declines = As<ops::OuterProductMean>::fn<outer_product_mean_tiled::declines>,
     .scratch_bytes = As<ops::OuterProductMean>::fn<outer_product_mean_tiled::scratch_bytes>,
     .prepare = As<ops::OuterProductMean>::fn<outer_product_mean_tiled::prepare>,
     .run = As<ops::OuterProductMean>::fn<outer_product_mean_tiled::run>,
     .in_place = 1u << 5,
     .absorbs = 1u << 2},
    {.name = "ref",
     .scratch_bytes = As<ops::OuterProductMean>::fn<scratch_bytes>,
     .run = As<ops::OuterProductMean>::fn<ref>},
};

}  // namespace

constinit const Kernels outer_product_mean_cpu_kernels = kKernels;

}  // namespace plica
