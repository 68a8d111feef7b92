#include "ops/cuda/activation.cuh"
#include "ops/cuda/element.cuh"
#include "ops/cuda/gated_product.h"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/cuda/row.cuh"

namespace plica::cuda {
namespace {

using Op = ops::GatedMatMul;

struct Vector {
  const void* data = nullptr;
  int64_t step = 0;
};

// One side of the product: a source, its norm, its weight and bias.
struct Side {
  const void *source = nullptr, *weight = nullptr;
  int64_t depth = 0, step = 0, weight_row = 0, weight_step = 0;
  Vector gamma, beta, bias;
  double eps = 0;
};

struct GatedRows {
  Layout<5> rows;  // a, b, y, mask, residual
  Side value, gate;
  const void *mask = nullptr, *residual = nullptr;
  void* y = nullptr;
  int64_t columns = 0, y_step = 0, residual_step = 0;
  ops::Activation activation{};
};

template <class T>
__device__ Wide<T> element_of(const Vector& v, int64_t i, Wide<T> absent) {
  return v.data == nullptr ? absent : widen(static_cast<const T*>(v.data)[i * v.step]);
}

// A row of a source, normalised where there is a gamma; all threads of the block make it together.
template <class T>
struct SourceRow {
  using W = Wide<T>;
  const Side& side;
  const T* x;
  W mean = 0, scale = 1;

  __device__ SourceRow(const Side& from, int64_t at) : side(from), x(static_cast<const T*>(from.source) + at) {
    if (side.gamma.data == nullptr) return;
    W sum = 0, squares = 0;
    for (int64_t k = threadIdx.x; k < side.depth; k += kBlock) sum += widen(x[k * side.step]);
    mean = reduce_block(sum, Sum{}) / static_cast<W>(side.depth);
    for (int64_t k = threadIdx.x; k < side.depth; k += kBlock) {
      const W off = widen(x[k * side.step]) - mean;
      squares += off * off;
    }
    scale = W{1} / sqrt(reduce_block(squares, Sum{}) / static_cast<W>(side.depth) + static_cast<W>(side.eps));
  }

  // Times column n of the weight, plus its bias.
  __device__ W project(int64_t n) const {
    const T* weight = static_cast<const T*>(side.weight) + n * side.weight_row;
    W sum = 0;
    for (int64_t k = 0; k < side.depth; ++k) {
      W factor = widen(x[k * side.step]);
      if (side.gamma.data != nullptr)
        factor = (factor - mean) * scale * element_of<T>(side.gamma, k, W{1}) + element_of<T>(side.beta, k, W{0});
      sum += factor * widen(weight[k * side.weight_step]);
    }
    return sum + element_of<T>(side.bias, n, W{0});
  }
};

// A block makes a row of y, a thread every kBlock-th column of it.
template <class T>
__global__ void __launch_bounds__(kBlock) gated_rows(const __grid_constant__ GatedRows p) {
  using W = Wide<T>;
  int64_t at[5];
  p.rows.offsets(blockIdx.x, at);
  const SourceRow<T> value(p.value, at[0]), gate(p.gate, at[1]);
  const W mask = p.mask != nullptr ? widen(static_cast<const T*>(p.mask)[at[3]]) : W{1};
  for (int64_t n = threadIdx.x; n < p.columns; n += kBlock) {
    W y = mask * value.project(n) * activate(p.activation, gate.project(n));
    if (p.residual != nullptr) y += widen(static_cast<const T*>(p.residual)[at[4] + n * p.residual_step]);
    static_cast<T*>(p.y)[at[2] + n * p.y_step] = narrow<T>(y);
  }
}

Vector vector_of(const KernelArgs& args, size_t i) {
  return args.has(i) ? Vector{args.in[i].data, strides_in(args.in[i].type, 1)[0]} : Vector{};
}

Side side_of(const KernelArgs& args, size_t source, size_t weight, size_t gamma, double eps) {
  const TensorView &x = args.in[source], &w = args.in[weight];
  const AxisStrides of_weight = strides_in(w.type, 2);
  const size_t rank = x.type.shape.size();
  Side side{x.data, w.data, x.type.shape.back(), strides_in(x.type, rank)[rank - 1], of_weight[0], of_weight[1]};
  side.bias = vector_of(args, weight == Op::kValue ? Op::kValueBias : Op::kGateBias);
  side.gamma = vector_of(args, gamma);
  side.beta = vector_of(args, gamma + 1);
  side.eps = eps;
  return side;
}

}  // namespace

void run_gated_product_rows(const Op& op, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const size_t rank = y.type.shape.size(), last = rank - 1;
  const bool two = args.has(Op::kB);
  GatedRows p;
  p.value = side_of(args, Op::kA, Op::kValue, Op::kGamma, op.eps);
  p.gate = two ? side_of(args, Op::kB, Op::kGate, Op::kGateGamma, op.gate_eps)
               : side_of(args, Op::kA, Op::kGate, Op::kGamma, op.eps);
  std::array<AxisStrides, 5> strides{strides_in(args.in[Op::kA].type, rank),
                                     strides_in(args.in[two ? Op::kB : Op::kA].type, rank), strides_in(y.type, rank)};
  if (args.has(Op::kMask)) strides[3] = strides_in(args.in[Op::kMask].type, rank), p.mask = args.in[Op::kMask].data;
  if (args.has(Op::kResidual)) {
    strides[4] = strides_in(args.in[Op::kResidual].type, rank);
    p.residual = args.in[Op::kResidual].data;
  }
  p.rows = make_layout<5>(std::span(y.type.shape).first(last), strides);
  p.y = y.data;
  p.columns = y.type.shape[last];
  p.y_step = strides[2][last];
  p.residual_step = strides[4][last];
  p.activation = op.activation;
  if (p.rows.count == 0 || p.columns == 0) return;
  visit_float(y.type.dtype, [&](auto tag) {
    gated_rows<typename decltype(tag)::type><<<blocks_for(p.rows.count, 1), kBlock, 0, stream_of(args)>>>(p);
  });
}

}  // namespace plica::cuda
