#include <cmath>

#include "ops/layer_norm.h"
#include "ops/op.h"
#include "ops/row_kernels.h"

namespace plica {
namespace {

// Two passes a row, in double.
void ref(const ops::LayerNorm& op, const KernelArgs& args) {
  for_each_plain_row(args, [&](const auto& row) {
    const auto count = static_cast<double>(row.size);
    double sum = 0, squares = 0;
    for (int64_t c = 0; c < row.size; ++c) sum += row.x(c);
    const double mean = sum / count;
    for (int64_t c = 0; c < row.size; ++c) squares += (row.x(c) - mean) * (row.x(c) - mean);
    const double deviation = std::sqrt(squares / count + op.eps);
    for (int64_t c = 0; c < row.size; ++c) row.put_scaled(c, (row.x(c) - mean) / deviation);
  });
}

constexpr Kernel kKernels[] = {
    {.name = "row",
     .declines = As<ops::LayerNorm>::fn<declines_rows<ops::LayerNorm>>,
     .run = As<ops::LayerNorm>::fn<run_norm<cpu::layer_norm_rows, ops::LayerNorm>>,
     .in_place = 1},
    {.name = "ref", .run = As<ops::LayerNorm>::fn<ref>},
};

}  // namespace

constinit const Kernels layer_norm_cpu_kernels = kKernels;

}  // namespace plica
