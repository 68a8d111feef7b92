#include <cmath>

#include "ops/activation.h"
#include "ops/element.h"
#include "ops/gated_mat_mul.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica {
namespace {

using Op = ops::GatedMatMul;

// A vector of the operator, ones or zeros where it is absent.
template <class T>
double element_of(const KernelArgs& args, size_t operand, int64_t i, double absent) {
  if (!args.has(operand)) return absent;
  return read<T>(args.in[operand], i * strides_in(args.in[operand].type, 1)[0]);
}

// One row of a source, normalised where `gamma` is there.
template <class T>
void fetch_row(const KernelArgs& args, size_t source, int64_t at, double eps, std::span<double> row) {
  const size_t gamma = source == Op::kA ? Op::kGamma : Op::kGateGamma, beta = gamma + 1;
  const size_t rank = args.in[source].type.shape.size();
  const int64_t step = strides_in(args.in[source].type, rank)[rank - 1];
  const auto width = static_cast<double>(row.size());
  double mean = 0, variance = 0;
  for (size_t k = 0; k < row.size(); ++k) {
    row[k] = read<T>(args.in[source], at + static_cast<int64_t>(k) * step);
    mean += row[k] / width;
  }
  if (!args.has(gamma)) return;
  for (double x : row) variance += (x - mean) * (x - mean) / width;
  const double scale = 1 / std::sqrt(variance + eps);
  for (size_t k = 0; k < row.size(); ++k) {
    const auto i = static_cast<int64_t>(k);
    row[k] = (row[k] - mean) * scale * element_of<T>(args, gamma, i, 1) + element_of<T>(args, beta, i, 0);
  }
}

template <class T>
double dot(std::span<const double> row, const TensorView& weight, int64_t n) {
  const AxisStrides strides = strides_in(weight.type, 2);
  double sum = 0;
  for (size_t k = 0; k < row.size(); ++k)
    sum += row[k] * read<T>(weight, n * strides[0] + static_cast<int64_t>(k) * strides[1]);
  return sum;
}

// A row of y at a time, its sources in scratch: (K), (Kb).
template <class T>
void rows(const Op& op, const KernelArgs& args) {
  const TensorView &a = args.in[Op::kA], &y = args.out[0];
  const size_t gate_source = args.has(Op::kB) ? Op::kB : Op::kA;
  const size_t rank = y.type.shape.size(), last = rank - 1;
  const auto depth = static_cast<size_t>(a.type.shape.back());
  const auto gate_depth = static_cast<size_t>(args.in[gate_source].type.shape.back());
  std::array<AxisStrides, 5> strides{strides_in(a.type, rank), strides_in(args.in[gate_source].type, rank),
                                     strides_in(y.type, rank)};
  if (args.has(Op::kMask)) strides[3] = strides_in(args.in[Op::kMask].type, rank);
  if (args.has(Op::kResidual)) strides[4] = strides_in(args.in[Op::kResidual].type, rank);
  const std::span x(static_cast<double*>(args.scratch), depth), x_of_gate(x.data() + depth, gate_depth);
  for_each_index<5>(std::span(y.type.shape).first(last), strides, [&](const auto& at, const AxisSizes&) {
    fetch_row<T>(args, Op::kA, at[0], op.eps, x);
    if (args.has(Op::kB)) fetch_row<T>(args, Op::kB, at[1], op.gate_eps, x_of_gate);
    const std::span<const double> gated = args.has(Op::kB) ? x_of_gate : x;
    const double mask = args.has(Op::kMask) ? read<T>(args.in[Op::kMask], at[3]) : 1.0;
    for (int64_t n = 0; n < y.type.shape[last]; ++n) {
      const double value = dot<T>(x, args.in[Op::kValue], n) + element_of<T>(args, Op::kValueBias, n, 0);
      const double gate = dot<T>(gated, args.in[Op::kGate], n) + element_of<T>(args, Op::kGateBias, n, 0);
      double result = mask * value * activate(op.activation, gate);
      if (args.has(Op::kResidual)) result += read<T>(args.in[Op::kResidual], at[4] + n * strides[4][last]);
      write<T>(y, at[2] + n * strides[2][last], result);
    }
  });
}

void ref(const Op& op, const KernelArgs& args) {
  visit_float(args.in[0].type.dtype, [&](auto tag) { rows<typename decltype(tag)::type>(op, args); });
}

size_t scratch_bytes(const Op&, const Case& c) {
  return static_cast<size_t>(c.in[Op::kValue].type->shape[1] + c.in[Op::kGate].type->shape[1]) * sizeof(double);
}

constexpr Kernel kKernels[] = {
    {.name = "ref", .scratch_bytes = As<Op>::fn<scratch_bytes>, .run = As<Op>::fn<ref>},
};

}  // namespace

constinit const Kernels gated_mat_mul_cpu_kernels = kKernels;

}  // namespace plica
