#include <algorithm>

#include "ops/activation.h"
#include "ops/element.h"
#include "ops/mat_mul.h"
#include "ops/mat_mul_cpu_packed.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica {
namespace {

using ops::Activation;

struct Epilogue {
  int64_t column, gate, residual;  // offsets
};

// Integers have neither scale nor activation.
template <class T>
Wide<T> finish(const ops::MatMul& op, const KernelArgs& args, Wide<T> value, const Epilogue& at) {
  if constexpr (std::is_floating_point_v<Wide<T>>) value *= op.alpha;
  if (args.has(2)) value = add(value, read<T>(args.in[2], at.column));
  if constexpr (std::is_floating_point_v<Wide<T>>) value = activate(op.activation, value);
  if (args.has(3)) {
    Wide<T> gate = read<T>(args.in[3], at.gate);
    if constexpr (std::is_floating_point_v<Wide<T>>)
      if (op.gate_sigmoid) gate = activate(Activation::kSigmoid, gate);
    value = multiply(value, gate);
  }
  if (args.has(4)) value = add(value, read<T>(args.in[4], at.residual));
  return value;
}

// A row of y at a time, its sums in scratch: (N).
template <class T>
void rows(const ops::MatMul& op, const KernelArgs& args) {
  const TensorView &a = args.in[0], &b = args.in[1], &y = args.out[0];  // (..., M, K), (..., K, N), (..., M, N)
  const size_t rank = y.type.shape.size(), row_axis = rank - 2, last = rank - 1;
  const int64_t columns = y.type.shape[last], inner = a.type.shape.back();
  std::array<AxisStrides, 5> strides{strides_in(a.type, rank), strides_in(b.type, rank), strides_in(y.type, rank)};
  for (size_t i = 3; i < 5; ++i)
    if (args.has(i)) strides[i] = strides_in(args.in[i].type, rank);
  const int64_t a_step = strides[0][last], b_row = strides[1][row_axis], b_step = strides[1][last];
  const int64_t bias_step = args.has(2) ? strides_in(args.in[2].type, 1)[0] : 0;
  strides[1][row_axis] = 0;
  const std::span sums(static_cast<Wide<T>*>(args.scratch), static_cast<size_t>(columns));
  for_each_index<5>(std::span(y.type.shape).first(last), strides, [&](const auto& at, const AxisSizes&) {
    std::ranges::fill(sums, Wide<T>{});
    for (int64_t k = 0; k < inner; ++k) {
      const Wide<T> factor = read<T>(a, at[0] + k * a_step);
      const int64_t row = at[1] + k * b_row;
      for (int64_t n = 0; n < columns; ++n) {
        Wide<T>& sum = sums[static_cast<size_t>(n)];
        sum = add(sum, multiply(factor, read<T>(b, row + n * b_step)));
      }
    }
    for (int64_t n = 0; n < columns; ++n)
      write<T>(y, at[2] + n * strides[2][last],
               finish<T>(op, args, sums[static_cast<size_t>(n)],
                         {n * bias_step, at[3] + n * strides[3][last], at[4] + n * strides[4][last]}));
  });
}

void ref(const ops::MatMul& op, const KernelArgs& args) {
  visit_dtype(args.in[0].type.dtype, [&](auto tag) { rows<typename decltype(tag)::type>(op, args); });
}

size_t scratch_bytes(const ops::MatMul&, const Case& c) {
  return static_cast<size_t>(c.out[0].type->shape.back()) * sizeof(double);
}

constexpr Kernel kKernels[] = {
    {.name = "packed",
     .declines = As<ops::MatMul>::fn<mat_mul_packed::declines>,
     .scratch_bytes = As<ops::MatMul>::fn<mat_mul_packed::scratch_bytes>,
     .prepare = As<ops::MatMul>::fn<mat_mul_packed::prepare>,
     .run = As<ops::MatMul>::fn<mat_mul_packed::run>,
     .in_place = 1u << 4,
     .absorbs = 1u << 1},
    {.name = "ref", .scratch_bytes = As<ops::MatMul>::fn<scratch_bytes>, .run = As<ops::MatMul>::fn<ref>},
};

}  // namespace

constinit const Kernels mat_mul_cpu_kernels = kKernels;

}  // namespace plica
