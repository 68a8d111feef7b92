#include <cmath>
#include <limits>

#include "ops/op.h"
#include "ops/row_kernels.h"
#include "ops/softmax.h"

namespace plica {
namespace {

// Three passes a row, in double.
void ref(const ops::Softmax& op, const KernelArgs& args) {
  for_each_plain_row(args, [&](const auto& row) {
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t n = 0; n < row.size; ++n) max = std::fmax(max, row.x(n));
    for (int64_t n = 0; n < row.size; ++n) sum += std::exp(row.x(n) - max);
    for (int64_t n = 0; n < row.size; ++n) {
      const double shifted = row.x(n) - max;
      row.put(n, op.log ? shifted - std::log(sum) : std::exp(shifted) / sum);
    }
  });
}

// Rows of adjacent f32 values, vectorised.
void row(const ops::Softmax& op, const KernelArgs& args) {
  for_each_rows(args, {}, [&](const cpu::NormRows& rows, int64_t first, int64_t last) {
    cpu::softmax_rows(rows, op.log, first, last);
  });
}

constexpr Kernel kKernels[] = {
    {.name = "row",
     .declines = As<ops::Softmax>::fn<declines_rows<ops::Softmax>>,
     .run = As<ops::Softmax>::fn<row>,
     .in_place = 1},
    {.name = "ref", .run = As<ops::Softmax>::fn<ref>},
};

}  // namespace

constinit const Kernels softmax_cpu_kernels = kKernels;

}  // namespace plica
