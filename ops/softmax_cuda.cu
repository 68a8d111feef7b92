#include "ops/cuda/row.cuh"
#include "ops/op.h"
#include "ops/softmax.h"

namespace plica {
namespace {

using namespace plica::cuda;

// A row in the registers of a group of lanes.
template <class T, class Tile>
__global__ void __launch_bounds__(kBlock)
    tile(const __grid_constant__ Rows rows, const T* __restrict__ x, T* __restrict__ y, bool log) {
  const int64_t row = Tile::row(), width = rows.width;
  const bool live = row < rows.outer.count;
  int64_t at[2];
  rows.outer.offsets(live ? row : 0, at);
  float value[Tile::kValues], max = -INFINITY, sum = 0;
  Tile::load(x + at[0], rows.x_step, width, -INFINITY, value);
#pragma unroll
  for (float v : value) max = fmaxf(max, v);
  max = reduce_row<Tile>(max, Largest{});
  Tile::for_each_access(width, [&](int i, int) {
#pragma unroll
    for (int k = i; k < i + Tile::kWidth; ++k) {
      const float power = expf(value[k] - max);
      sum += power;
      value[k] = log ? value[k] - max : power;
    }
  });
  sum = reduce_row<Tile>(sum, Sum{});
  const float factor = log ? logf(sum) : 1.0f / sum;
#pragma unroll
  for (float& v : value) v = log ? v - factor : v * factor;
  if (live) Tile::store(y + at[1], rows.y_step, width, value);
}

// A block a row, of any width and strides; the row stays in shared memory where it fits.
template <class T>
__global__ void __launch_bounds__(kBlock)
    block(const __grid_constant__ Rows rows, const T* __restrict__ x, T* __restrict__ y, bool log_result, bool keep) {
  using W = Wide<T>;
  extern __shared__ __align__(16) unsigned char shared[];
  int64_t at[2];
  rows.outer.offsets(blockIdx.x, at);
  const BlockRow<T> row{x + at[0], rows.x_step, keep ? reinterpret_cast<W*>(shared) : nullptr};
  W max = -INFINITY, sum = 0;
  for (int64_t i = threadIdx.x; i < rows.width; i += kBlock) max = Largest{}(max, row.read(i));
  max = reduce_block(max, Largest{});
  for (int64_t i = threadIdx.x; i < rows.width; i += kBlock) sum += exp(row.again(i) - max);
  sum = reduce_block(sum, Sum{});
  const W factor = log_result ? log(sum) : W{1} / sum;
  for (int64_t i = threadIdx.x; i < rows.width; i += kBlock) {
    const W shifted = row.again(i) - max;
    y[at[1] + i * rows.y_step] = narrow<T>(log_result ? shifted - factor : exp(shifted) * factor);
  }
}

void run_tile(const ops::Softmax& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const Rows rows = rows_of(x, y);
  if (rows.outer.count == 0) return;
  visit_16_or_32_bits(x.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    visit_tile<T>(rows, *static_cast<const bool*>(args.state), [&](auto shape) {
      using Shape = decltype(shape);
      tile<T, Shape><<<blocks_for(rows.outer.count, Shape::kRowsPerBlock), kBlock, 0, stream_of(args)>>>(
          rows, static_cast<const T*>(x.data), static_cast<T*>(y.data), op.log);
    });
  });
}

void run_block(const ops::Softmax& op, const KernelArgs& args) {
  const TensorView &x = args.in[0], &y = args.out[0];
  const Rows rows = rows_of(x, y);
  if (rows.outer.count == 0) return;
  visit_float(x.type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const size_t bytes = block_row_bytes<T>(rows.width);
    block<T><<<blocks_for(rows.outer.count, 1), kBlock, bytes, stream_of(args)>>>(
        rows, static_cast<const T*>(x.data), static_cast<T*>(y.data), op.log, bytes > 0);
  });
}

bool vectors(const Case& c) { return rows_are_vectors({&c.in[0], &c.out[0]}, {}); }

const char* declines_tile(const ops::Softmax&, const Case& c) { return tile_declines(c, vectors(c)); }

Result<KernelState> prepare_tile(const ops::Softmax&, const Case& c, ConstantStore&) {
  return KernelState(std::make_shared<const bool>(vectors(c)));
}

constexpr Kernel kKernels[] = {
    {.name = "tile",
     .declines = As<ops::Softmax>::fn<declines_tile>,
     .prepare = As<ops::Softmax>::fn<prepare_tile>,
     .run = As<ops::Softmax>::fn<run_tile>,
     .in_place = 1},
    {.name = "block",
     .declines = As<ops::Softmax>::fn<rank_over_8<ops::Softmax>>,
     .run = As<ops::Softmax>::fn<run_block>,
     .in_place = 1},
};

}  // namespace

constinit const Kernels softmax_cuda_kernels = kKernels;

}  // namespace plica
