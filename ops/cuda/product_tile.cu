#include "ops/cuda/activation.cuh"
#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/cuda/product_tile.h"

namespace plica::cuda {
namespace {

using ops::Activation;

constexpr int kTile = 64, kDepth = 16, kPerThread = 4;  // a block makes kTile x kTile, a thread 4 x 4 of them

struct Shape {
  Layout<5> batch;  // a, b, y, gate, residual
  int64_t m, n, k;
  int64_t a_row, a_column, b_row, b_column, y_row, y_column;
  int64_t bias_step, gate_row, gate_column, residual_row, residual_column;
  int64_t tiles_down, tiles_across;
  double alpha;
  Activation activation;
  bool gate_sigmoid;
};

// Sums: fp32, f64, or 32 and 64 bits that wrap.
template <class T>
using Sum = std::conditional_t<std::is_integral_v<T>, std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>, Wide<T>>;

template <class T>
struct Operands {
  const T *a, *b, *bias, *gate, *residual;  // (.., M, K), (.., K, N), (N), (.., M, N), (.., M, N)
  T* y;                                     // (.., M, N)
};

// Tiles of a and b go through shared memory (2 x 16 x 65 sums); 256 threads.
template <class T>
__global__ void __launch_bounds__(kBlock) tile(const __grid_constant__ Shape shape, Operands<T> operands) {
  using W = Sum<T>;
  __shared__ W tile_a[kDepth][kTile + 1], tile_b[kDepth][kTile + 1];
  int64_t block = blockIdx.x;
  const int64_t across = block % shape.tiles_across;
  block /= shape.tiles_across;
  const int64_t first_row = block % shape.tiles_down * kTile, first_column = across * kTile;
  int64_t at[5];
  shape.batch.offsets(block / shape.tiles_down, at);
  const T *a = operands.a + at[0], *b = operands.b + at[1];
  const int row = threadIdx.x / 16 * kPerThread, column = threadIdx.x % 16 * kPerThread;
  // Neighbouring threads read along the axis that is contiguous.
  const bool a_by_row = shape.a_row == 1, b_by_row = shape.b_row == 1;
  W sum[kPerThread][kPerThread] = {};
  for (int64_t base = 0; base < shape.k; base += kDepth) {
    for (int i = threadIdx.x; i < kTile * kDepth; i += kBlock) {
      const int ra = a_by_row ? i % kTile : i / kDepth, ka = a_by_row ? i / kTile : i % kDepth;
      const bool a_inside = first_row + ra < shape.m && base + ka < shape.k;
      tile_a[ka][ra] =
          a_inside ? static_cast<W>(widen(a[(first_row + ra) * shape.a_row + (base + ka) * shape.a_column])) : W{0};
      const int cb = b_by_row ? i / kDepth : i % kTile, kb = b_by_row ? i % kDepth : i / kTile;
      const bool b_inside = first_column + cb < shape.n && base + kb < shape.k;
      tile_b[kb][cb] =
          b_inside ? static_cast<W>(widen(b[(base + kb) * shape.b_row + (first_column + cb) * shape.b_column])) : W{0};
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
#pragma unroll
      for (int i = 0; i < kPerThread; ++i)
#pragma unroll
        for (int j = 0; j < kPerThread; ++j) sum[i][j] += tile_a[k][row + i] * tile_b[k][column + j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) {
      const int64_t r = first_row + row + i, c = first_column + column + j;
      if (r >= shape.m || c >= shape.n) continue;
      W value = sum[i][j];
      if constexpr (!std::is_integral_v<T>) value *= static_cast<W>(shape.alpha);
      if (operands.bias != nullptr) value += static_cast<W>(widen(operands.bias[c * shape.bias_step]));
      if constexpr (!std::is_integral_v<T>) value = activate(shape.activation, value);
      if (operands.gate != nullptr) {
        W gate = static_cast<W>(widen(operands.gate[at[3] + r * shape.gate_row + c * shape.gate_column]));
        if constexpr (!std::is_integral_v<T>)
          if (shape.gate_sigmoid) gate = activate(Activation::kSigmoid, gate);
        value *= gate;
      }
      if (operands.residual != nullptr)
        value += static_cast<W>(widen(operands.residual[at[4] + r * shape.residual_row + c * shape.residual_column]));
      operands.y[at[2] + r * shape.y_row + c * shape.y_column] = narrow<T>(value);
    }
  }
}

template <class T>
void launch(const Shape& shape, const KernelArgs& args) {
  const auto operand = [&](size_t i) { return args.has(i) ? static_cast<const T*>(args.in[i].data) : nullptr; };
  const Operands<T> operands{operand(0), operand(1), operand(2),
                             operand(3), operand(4), static_cast<T*>(args.out[0].data)};
  const int64_t blocks = shape.batch.count * shape.tiles_down * shape.tiles_across;
  tile<T><<<blocks_for(blocks, 1), kBlock, 0, stream_of(args)>>>(shape, operands);
}

}  // namespace

void run_product_tile(const ops::MatMul& op, const KernelArgs& args) {
  const TensorView &a = args.in[0], &b = args.in[1], &y = args.out[0];
  const size_t rank = y.type.shape.size(), row = rank - 2, column = rank - 1;
  std::array<AxisStrides, 5> strides{strides_in(a.type, rank), strides_in(b.type, rank), strides_in(y.type, rank)};
  for (size_t i = 3; i < 5; ++i)
    if (args.has(i)) strides[i] = strides_in(args.in[i].type, rank);
  Shape shape{};
  shape.batch = make_layout<5>(std::span<const int64_t>(y.type.shape).first(row), strides);
  shape.m = y.type.shape[row];
  shape.n = y.type.shape[column];
  shape.k = a.type.shape.back();
  shape.a_row = strides[0][row], shape.a_column = strides[0][column];
  shape.b_row = strides[1][row], shape.b_column = strides[1][column];
  shape.y_row = strides[2][row], shape.y_column = strides[2][column];
  shape.gate_row = strides[3][row], shape.gate_column = strides[3][column];
  shape.residual_row = strides[4][row], shape.residual_column = strides[4][column];
  shape.bias_step = args.has(2) ? strides_in(args.in[2].type, 1)[0] : 0;
  shape.tiles_down = ceil_div(shape.m, kTile);
  shape.tiles_across = ceil_div(shape.n, kTile);
  shape.alpha = op.alpha;
  shape.activation = op.activation;
  shape.gate_sigmoid = op.gate_sigmoid;
  if (shape.batch.count == 0 || shape.m == 0 || shape.n == 0) return;
  switch (y.type.dtype) {
    case DType::kF32: return launch<float>(shape, args);
    case DType::kF64: return launch<double>(shape, args);
    case DType::kF16: return launch<F16>(shape, args);
    case DType::kBF16: return launch<BF16>(shape, args);
    default: break;
  }
  visit_size(size_of(y.type.dtype), [&](auto tag) {  // what wraps does not depend on the sign
    using T = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<T>) launch<T>(shape, args);
  });
}

}  // namespace plica::cuda
