#include <cmath>

#include "ops/op.h"
#include "ops/rms_norm.h"
#include "ops/row_kernels.h"

namespace plica {
namespace {

// Two passes a row, in double.
void ref(const ops::RmsNorm& op, const KernelArgs& args) {
  for_each_plain_row(args, [&](const auto& row) {
    double squares = 0;
    for (int64_t c = 0; c < row.size; ++c) squares += row.x(c) * row.x(c);
    const double root = std::sqrt(squares / static_cast<double>(row.size) + op.eps);
    for (int64_t c = 0; c < row.size; ++c) row.put_scaled(c, row.x(c) / root);
  });
}

constexpr Kernel kKernels[] = {
    {.name = "row",
     .declines = As<ops::RmsNorm>::fn<declines_rows<ops::RmsNorm>>,
     .run = As<ops::RmsNorm>::fn<run_norm<cpu::rms_norm_rows, ops::RmsNorm>>,
     .in_place = 1},
    {.name = "ref", .run = As<ops::RmsNorm>::fn<ref>},
};

}  // namespace

constinit const Kernels rms_norm_cpu_kernels = kKernels;

}  // namespace plica
