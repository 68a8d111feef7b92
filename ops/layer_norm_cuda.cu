#include "ops/cuda/layer_norm_columns.h"
#include "ops/cuda/row.cuh"
#include "ops/layer_norm.h"
#include "ops/op.h"

namespace plica {
namespace {

using namespace plica::cuda;

struct Norm {
  Rows rows;
  int64_t gamma_step = 0, beta_step = 0;
  double eps = 0;
};

// A row in the registers of a group of lanes; moments in two passes over them.
template <class T, class Tile>
__global__ void __launch_bounds__(kBlock)
    tile(const __grid_constant__ Norm norm, const T* __restrict__ x, const T* __restrict__ gamma,
         const T* __restrict__ beta, T* __restrict__ y) {
  const int64_t row = Tile::row(), width = norm.rows.width;
  const bool live = row < norm.rows.outer.count;
  int64_t at[2];
  norm.rows.outer.offsets(live ? row : 0, at);
  float value[Tile::kValues];
  Tile::load(x + at[0], norm.rows.x_step, width, 0.0f, value);
  float sum = 0, squares = 0;
#pragma unroll
  for (float v : value) sum += v;
  const float mean = reduce_row<Tile>(sum, Sum{}) / static_cast<float>(width);
  Tile::for_each_access(width, [&](int i, int) {
#pragma unroll
    for (int k = i; k < i + Tile::kWidth; ++k) squares += (value[k] - mean) * (value[k] - mean);
  });
  const float variance = reduce_row<Tile>(squares, Sum{}) / static_cast<float>(width);
  const float scale = 1.0f / sqrtf(variance + static_cast<float>(norm.eps));
  Tile::for_each_access(width, [&](int i, int access) {
    Pack<T, Tile::kWidth> g, b;
    if (gamma != nullptr) g = shared_values<T, Tile>(gamma, norm.gamma_step, access);
    if (beta != nullptr) b = shared_values<T, Tile>(beta, norm.beta_step, access);
#pragma unroll
    for (int k = 0; k < Tile::kWidth; ++k) {
      float v = (value[i + k] - mean) * scale;
      if (gamma != nullptr) v *= widen(g.v[k]);
      if (beta != nullptr) v += widen(b.v[k]);
      value[i + k] = v;
    }
  });
  if (live) Tile::store(y + at[1], norm.rows.y_step, width, value);
}

// A block a row, of any width and strides; the row stays in shared memory where it fits.
template <class T>
__global__ void __launch_bounds__(kBlock)
    block(const __grid_constant__ Norm norm, const T* __restrict__ x, const T* __restrict__ gamma,
          const T* __restrict__ beta, T* __restrict__ y, bool keep) {
  using W = Wide<T>;
  extern __shared__ __align__(16) unsigned char shared[];
  int64_t at[2];
  norm.rows.outer.offsets(blockIdx.x, at);
  const BlockRow<T> row{x + at[0], norm.rows.x_step, keep ? reinterpret_cast<W*>(shared) : nullptr};
  const int64_t width = norm.rows.width;
  W sum = 0, squares = 0;
  for (int64_t i = threadIdx.x; i < width; i += kBlock) sum += row.read(i);
  const W mean = reduce_block(sum, Sum{}) / static_cast<W>(width);
  for (int64_t i = threadIdx.x; i < width; i += kBlock) squares += (row.again(i) - mean) * (row.again(i) - mean);
  const W variance = reduce_block(squares, Sum{}) / static_cast<W>(width);
  const W scale = W{1} / sqrt(variance + static_cast<W>(norm.eps));
  for (int64_t i = threadIdx.x; i < width; i += kBlock) {
    W v = (row.again(i) - mean) * scale;
    if (gamma != nullptr) v *= widen(gamma[i * norm.gamma_step]);
    if (beta != nullptr) v += widen(beta[i * norm.beta_step]);
    y[at[1] + i * norm.rows.y_step] = narrow<T>(v);
  }
}

Norm norm_of(const ops::LayerNorm& op, const KernelArgs& args) {
  Norm norm{rows_of(args.in[0], args.out[0])};
  norm.eps = op.eps;
  if (args.has(1)) norm.gamma_step = strides_in(args.in[1].type, 1)[0];
  if (args.has(2)) norm.beta_step = strides_in(args.in[2].type, 1)[0];
  return norm;
}

template <class T>
const T* parameter(const KernelArgs& args, size_t i) {
  return args.has(i) ? static_cast<const T*>(args.in[i].data) : nullptr;
}

void run_tile(const ops::LayerNorm& op, const KernelArgs& args) {
  const Norm norm = norm_of(op, args);
  if (norm.rows.outer.count == 0) return;
  visit_16_or_32_bits(args.in[0].type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit_tile<T>(norm.rows.width, *static_cast<const bool*>(args.state), [&](auto shape) {
      using Shape = decltype(shape);
      tile<T, Shape><<<blocks_for(norm.rows.outer.count, Shape::kRowsPerBlock), kBlock, 0, stream_of(args)>>>(
          norm, parameter<T>(args, 0), parameter<T>(args, 1), parameter<T>(args, 2), static_cast<T*>(args.out[0].data));
    });
  });
}

void run_block(const ops::LayerNorm& op, const KernelArgs& args) {
  const Norm norm = norm_of(op, args);
  if (norm.rows.outer.count == 0) return;
  visit_float(args.in[0].type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const size_t bytes = block_row_bytes<T>(norm.rows.width);
    block<T><<<blocks_for(norm.rows.outer.count, 1), kBlock, bytes, stream_of(args)>>>(
        norm, parameter<T>(args, 0), parameter<T>(args, 1), parameter<T>(args, 2), static_cast<T*>(args.out[0].data),
        bytes > 0);
  });
}

bool vectors(const Case& c) { return rows_are_vectors({&c.in[0], &c.out[0]}, {&c.in[1], &c.in[2]}); }

const char* declines_tile(const ops::LayerNorm&, const Case& c) { return tile_declines(c, vectors(c)); }

Result<KernelState> prepare_tile(const ops::LayerNorm&, const Case& c, ConstantStore&) {
  return KernelState(std::make_shared<const bool>(vectors(c)));
}

constexpr Kernel kKernels[] = {
    {.name = "columns",
     .declines = As<ops::LayerNorm>::fn<layer_norm_columns_declines>,
     .run = As<ops::LayerNorm>::fn<run_layer_norm_columns>},
    {.name = "tile",
     .declines = As<ops::LayerNorm>::fn<declines_tile>,
     .prepare = As<ops::LayerNorm>::fn<prepare_tile>,
     .run = As<ops::LayerNorm>::fn<run_tile>,
     .in_place = 1},
    {.name = "block",
     .declines = As<ops::LayerNorm>::fn<rank_over_8<ops::LayerNorm>>,
     .run = As<ops::LayerNorm>::fn<run_block>,
     .in_place = 1},
};

}  // namespace

constinit const Kernels layer_norm_cuda_kernels = kKernels;

}  // namespace plica
