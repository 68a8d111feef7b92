#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/cuda/map_fn.cuh"
#include "ops/cuda/product_thin.h"
#include "ops/strided.h"
#include "runtime/core/dtype.h"

namespace plica::cuda {
namespace {

using ops::Activation;

constexpr int kColumns = 8, kLanes = 8;  // lanes of a row: as many as columns
constexpr int64_t kMostDepth = 1024;
constexpr size_t kSharedFloats = kMostDepth * kColumns + kMostDepth / 4 * 4;

struct Thin {
  Layout<2> rows;  // a, y
  int64_t depth = 0, columns = 0;
  int64_t b_row = 0, b_column = 0, y_column = 0, bias_step = 0;
  float alpha = 1;
  Activation activation = Activation::kNone;
};

__device__ inline float activate(Activation activation, float x) {
  switch (activation) {
    case Activation::kRelu: return relu(x);
    case Activation::kGelu: return gelu(x);
    case Activation::kGeluTanh: return gelu_tanh(x);
    case Activation::kSilu: return silu(x);
    case Activation::kSigmoid: return sigmoid(x);
    case Activation::kTanh: return tanhf(x);
    default: return x;
  }
}

// Where row k of b stands in shared memory: a shift a vector, so that the lanes of a row read different banks.
template <class T>
__device__ int weight_at(int k) {
  return k * kColumns + k / kVector<T> * 4;
}

// Adds up over kLanes lanes; lane n gets column n.
__device__ inline float gather_columns(const float (&sum)[kColumns], int lane) {
  float four[4], two[2];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float kept = lane & 4 ? sum[i + 4] : sum[i], given = lane & 4 ? sum[i] : sum[i + 4];
    four[i] = kept + __shfl_xor_sync(0xffffffffu, given, 4);
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float kept = lane & 2 ? four[i + 2] : four[i], given = lane & 2 ? four[i] : four[i + 2];
    two[i] = kept + __shfl_xor_sync(0xffffffffu, given, 2);
  }
  const float kept = lane & 1 ? two[1] : two[0], given = lane & 1 ? two[0] : two[1];
  return kept + __shfl_xor_sync(0xffffffffu, given, 1);
}

// sum (kRows, kColumns) += the lane's part of kRows rows of a @ weight.
template <class T, int kRows>
__device__ void add_rows(const T* __restrict__ a, const int64_t (&at)[kRows][2], const float* weight, int depth,
                         float (&sum)[kRows][kColumns]) {
  constexpr int kWidth = kVector<T>;
#pragma unroll 2
  for (int first = static_cast<int>(threadIdx.x) % kLanes * kWidth; first < depth; first += kLanes * kWidth) {
    Pack<T, kWidth> x[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) x[r] = *reinterpret_cast<const Pack<T, kWidth>*>(a + at[r][0] + first);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      const float4* w = reinterpret_cast<const float4*>(weight + weight_at<T>(first) + k * kColumns);
      const float4 low = w[0], high = w[1];
      const float factor[kColumns] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const float value = widen(x[r].v[k]);
#pragma unroll
        for (int n = 0; n < kColumns; ++n) sum[r][n] = fmaf(value, factor[n], sum[r][n]);
      }
    }
  }
}

// Eight lanes share kRows rows of a at a time, 16 bytes an access; b stands in shared memory as fp32, eight columns wide, for
// all the rows of a block.
template <class T, int kRows>
__global__ void __launch_bounds__(kBlock) thin(const __grid_constant__ Thin p, const T* __restrict__ a,
                                               const T* __restrict__ b, const T* __restrict__ bias, T* __restrict__ y) {
  extern __shared__ float4 shared_vectors[];
  float* weight = reinterpret_cast<float*>(shared_vectors);
  for (int i = threadIdx.x; i < p.depth * kColumns; i += kBlock) {
    const int k = i / kColumns, n = i % kColumns;
    weight[weight_at<T>(k) + n] = n < p.columns ? widen(b[k * p.b_row + n * p.b_column]) : 0.0f;
  }
  __syncthreads();
  constexpr int64_t kGroups = kBlock / kLanes;
  const int lane = threadIdx.x % kLanes;
  const bool inside = lane < p.columns;
  const float offset = bias != nullptr && inside ? widen(bias[lane * p.bias_step]) : 0.0f;
  const int64_t step = int64_t{gridDim.x} * kGroups * kRows;
  for (int64_t first = int64_t{blockIdx.x} * kGroups * kRows; first < p.rows.count; first += step) {
    int64_t at[kRows][2];
    bool live[kRows];
    float sum[kRows][kColumns] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int64_t row = first + r * kGroups + threadIdx.x / kLanes;
      live[r] = row < p.rows.count;
      p.rows.offsets(live[r] ? row : 0, at[r]);
    }
    add_rows<T>(a, at, weight, static_cast<int>(p.depth), sum);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float value = activate(p.activation, gather_columns(sum[r], lane) * p.alpha + offset);
      if (live[r] && inside) y[at[r][1] + lane * p.y_column] = narrow<T>(value);
    }
  }
}

template <class T, int kRows>
void launch(const Thin& p, const KernelArgs& args) {
  const auto operand = [&](size_t i) { return args.has(i) ? static_cast<const T*>(args.in[i].data) : nullptr; };
  const auto floats = static_cast<size_t>(p.depth * kColumns + p.depth / kVector<T> * 4);
  int device = 0, processors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  const int64_t blocks = std::min(ceil_div(p.rows.count, int64_t{kBlock} / kLanes * kRows), int64_t{4} * processors);
  thin<T, kRows><<<static_cast<unsigned>(blocks), kBlock, floats * sizeof(float), stream_of(args)>>>(
      p, operand(0), operand(1), operand(2), static_cast<T*>(args.out[0].data));
}

}  // namespace

const char* product_thin_declines(const ops::MatMul&, const Case& c) {
  static_assert(kSharedFloats * sizeof(float) <= 48 * 1024);
  if (const char* why = over_rank(c)) return why;
  const TensorType &a = *c.in[0].type, &b = *c.in[1].type, &y = *c.out[0].type;
  if (!is_float(y.dtype) || y.dtype == DType::kF64) return "integers or f64";
  if (y.shape.back() > kColumns) return "more than 8 columns";
  if (c.has(3) || c.has(4)) return "a gate or a residual";
  const auto width = static_cast<int64_t>(16 / size_of(a.dtype));
  if (a.shape.back() == 0 || a.shape.back() % width != 0 || a.shape.back() > kMostDepth)
    return "the depth is no whole number of 16-byte vectors, or over 1024";
  const size_t rank = y.shape.size();
  const AxisStrides of_a = strides_in(a, rank), of_b = strides_in(b, rank);
  bool vectors = of_a[rank - 1] == 1 && c.in[0].alignment_bytes % 16 == 0;
  for (size_t i = 0; i + 1 < rank; ++i) vectors &= of_a[i] % width == 0;
  if (!vectors) return "rows of a are no whole vectors of 16 bytes";
  for (size_t i = 0; i + 2 < rank; ++i)
    if (of_b[i] != 0) return "a batch of b";
  return nullptr;
}

void run_product_thin(const ops::MatMul& op, const KernelArgs& args) {
  const TensorView &a = args.in[0], &y = args.out[0];
  const size_t rank = y.type.shape.size();
  const AxisStrides of_b = strides_in(args.in[1].type, rank), of_y = strides_in(y.type, rank);
  Thin p;
  p.rows = make_layout<2>(std::span(y.type.shape).first(rank - 1), {strides_in(a.type, rank), of_y});
  p.depth = a.type.shape.back();
  p.columns = y.type.shape.back();
  p.b_row = of_b[rank - 2];
  p.b_column = of_b[rank - 1];
  p.y_column = of_y[rank - 1];
  if (args.has(2)) p.bias_step = strides_in(args.in[2].type, 1)[0];
  p.alpha = static_cast<float>(op.alpha);
  p.activation = op.activation;
  if (p.rows.count == 0 || p.columns == 0) return;
  constexpr int64_t kManyRows = 1 << 14;
  visit_16_or_32_bits(y.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (p.rows.count >= kManyRows)
      launch<T, 2>(p, args);
    else
      launch<T, 1>(p, args);
  });
}

}  // namespace plica::cuda
