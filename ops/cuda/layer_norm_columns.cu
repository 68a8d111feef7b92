#include "ops/cuda/layer_norm_columns.h"
#include "ops/cuda/row.cuh"

namespace plica::cuda {
namespace {

constexpr int kWarps = kBlock / kWarp;
constexpr int64_t kMostChannels = 256, kFewestRows = 32;

struct Columns {
  Layout<2> outer;              // x, y: the axes in front of the rows
  int64_t rows = 0, tiles = 0;  // rows side by side; tiles of them
  int64_t x_step = 0, y_row = 0, y_step = 0;
  int64_t gamma_step = 0, beta_step = 0;
  int channels = 0;
  float eps = 0;
};

// Sums over the warps what each has for `kRows` rows a lane; a barrier before and one behind.
template <int kRows>
__device__ void add_over_warps(float (&sum)[kRows], float* partial) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
#pragma unroll
  for (int r = 0; r < kRows; ++r) partial[(warp * kWarp + lane) * kRows + r] = sum[r];
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    sum[r] = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum[r] += partial[(w * kWarp + lane) * kRows + r];
  }
  __syncthreads();
}

// A block normalises 128 bytes of neighbouring rows: a lane owns kRows of them, a warp every eighth channel, held in
// registers; moments in two passes. Results go through shared memory, rows x (channels + one 4-byte word), and are
// written along channels.
template <class T, int kSteps>
__global__ void __launch_bounds__(kBlock)
    columns(const __grid_constant__ Columns p, const T* __restrict__ x, const T* __restrict__ gamma,
            const T* __restrict__ beta, T* __restrict__ y, bool packs) {
  constexpr int kRows = 4 / sizeof(T);
  using Access = Pack<T, kRows>;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ float partial[kBlock * kRows];
  T* tile = reinterpret_cast<T*>(shared);
  const int width = p.channels + kRows;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  int64_t at[2];
  p.outer.offsets(blockIdx.x / p.tiles, at);
  const int64_t first = blockIdx.x % p.tiles * (kWarp * kRows);
  const int64_t left = p.rows - first;
  x += at[0] + first;
  y += at[1] + first * p.y_row;

  float value[kSteps][kRows];
  float sum[kRows] = {}, squares[kRows] = {};
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    const int c = s * kWarps + warp;
    Access access{};
    if (c < p.channels) {
      const T* from = x + c * p.x_step + lane * kRows;
      if (packs && lane * kRows + kRows <= left) {
        access = *reinterpret_cast<const Access*>(from);
      } else {
#pragma unroll
        for (int r = 0; r < kRows; ++r)
          if (lane * kRows + r < left) access.v[r] = from[r];
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      value[s][r] = widen(access.v[r]);
      sum[r] += value[s][r];
    }
  }
  add_over_warps(sum, partial);
  const auto count = static_cast<float>(p.channels);
#pragma unroll
  for (int s = 0; s < kSteps; ++s)
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float d = value[s][r] - sum[r] / count;
      if (s * kWarps + warp < p.channels) squares[r] += d * d;
    }
  add_over_warps(squares, partial);
  float scale[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) scale[r] = 1.0f / sqrtf(squares[r] / count + p.eps);
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    const int c = s * kWarps + warp;
    if (c >= p.channels) break;
    const float g = gamma != nullptr ? widen(gamma[c * p.gamma_step]) : 1.0f;
    const float b = beta != nullptr ? widen(beta[c * p.beta_step]) : 0.0f;
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      tile[(lane * kRows + r) * width + c] = narrow<T>((value[s][r] - sum[r] / count) * scale[r] * g + b);
  }
  __syncthreads();
  const bool pairs = packs && p.y_step == 1;
  for (int row = warp; row < kWarp * kRows && row < left; row += kWarps) {
    const T* from = tile + row * width;
    T* to = y + row * p.y_row;
    if (pairs) {
      for (int c = lane * kRows; c < p.channels; c += kWarp * kRows)
        *reinterpret_cast<Access*>(to + c) = *reinterpret_cast<const Access*>(from + c);
    } else {
      for (int c = lane; c < p.channels; c += kWarp) to[c * p.y_step] = from[c];
    }
  }
}

Columns columns_of(const ops::LayerNorm& op, const TensorType& x, const TensorType& y) {
  const size_t rank = x.shape.size(), last = rank - 1;
  const AxisStrides of_x = strides_in(x, rank), of_y = strides_in(y, rank);
  Columns p;
  p.outer = make_layout<2>(std::span(x.shape).first(last), {of_x, of_y});
  p.x_step = of_x[last];
  p.y_step = of_y[last];
  p.channels = static_cast<int>(x.shape[last]);
  p.eps = static_cast<float>(op.eps);
  if (p.outer.rank == 0 || p.outer.stride[0][p.outer.rank - 1] != 1) return p;
  const int axis = --p.outer.rank;
  p.rows = p.outer.size[axis];
  p.y_row = p.outer.stride[1][axis];
  p.outer.finish();
  return p;
}

// Whether rows of x can be read, and results written, 4 bytes an access.
bool fits_packs(const Columns& p, const KernelArgs& args, int64_t rows_per_access) {
  const auto whole = [&](int64_t step) { return step % rows_per_access == 0; };
  bool fits = is_aligned(args.in[0].data, 4) && is_aligned(args.out[0].data, 4) && whole(p.x_step) && whole(p.y_row) &&
              whole(p.channels);
  for (int i = 0; i < p.outer.rank; ++i) fits &= whole(p.outer.stride[0][i]) && whole(p.outer.stride[1][i]);
  return fits;
}

}  // namespace

const char* layer_norm_columns_declines(const ops::LayerNorm& op, const Case& c) {
  if (const char* why = over_rank(c)) return why;
  const TensorType& x = *c.in[0].type;
  if (x.dtype == DType::kF64) return "f64";
  if (x.shape.back() == 0 || x.shape.back() > kMostChannels) return "no channels, or more than 256";
  const Columns p = columns_of(op, x, *c.out[0].type);
  if (p.x_step == 1 || p.rows < kFewestRows) return "fewer than 32 rows lie side by side";
  return nullptr;
}

void run_layer_norm_columns(const ops::LayerNorm& op, const KernelArgs& args) {
  Columns p = columns_of(op, args.in[0].type, args.out[0].type);
  if (args.has(1)) p.gamma_step = strides_in(args.in[1].type, 1)[0];
  if (args.has(2)) p.beta_step = strides_in(args.in[2].type, 1)[0];
  if (p.outer.count * p.rows == 0) return;
  visit_16_or_32_bits(args.in[0].type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kRows = 4 / sizeof(T);
    p.tiles = ceil_div(p.rows, kWarp * kRows);
    const auto data = [&](size_t i) { return args.has(i) ? static_cast<const T*>(args.in[i].data) : nullptr; };
    const auto launch = [&](auto kernel) {
      const size_t bytes = sizeof(T) * kWarp * kRows * static_cast<size_t>(p.channels + kRows);
      kernel<<<blocks_for(p.outer.count * p.tiles, 1), kBlock, bytes, stream_of(args)>>>(
          p, data(0), data(1), data(2), static_cast<T*>(args.out[0].data), fits_packs(p, args, kRows));
    };
    if (p.channels <= 8 * kWarps) return launch(columns<T, 8>);
    if (p.channels <= 16 * kWarps) return launch(columns<T, 16>);
    launch(columns<T, 32>);
  });
}

}  // namespace plica::cuda
