#include "ops/cuda/row.cuh"
#include "ops/op.h"
#include "ops/softmax.h"

namespace plica {
namespace {

using namespace plica::cuda;

enum Operands { kX, kY, kBias, kMask };

// What a row is read from and written to. Of plain rows bias and mask are not there.
template <class T, bool kMasked>
struct SoftmaxRows {
  static constexpr int kNum = kMasked ? 4 : 2;
  Layout<kNum> outer;  // leading axes
  int64_t width, step[kNum];
  const T* x;
  T* y;
  const T *bias, *added;  // null where absent
  const bool* kept;       // null where absent
  Wide<T> fill;
  bool log, zero_nan;

  // Element i of the row at `at`, where x is `value`.
  __device__ Wide<T> z(Wide<T> value, const int64_t (&at)[kNum], int64_t i) const {
    if constexpr (kMasked) {
      if (bias != nullptr) value += widen(bias[at[kBias] + i * step[kBias]]);
      if (added != nullptr) value += widen(added[at[kMask] + i * step[kMask]]);
      if (kept != nullptr && !kept[at[kMask] + i * step[kMask]]) value = fill;
    }
    return value;
  }
  __device__ Wide<T> result(Wide<T> value) const { return kMasked && zero_nan && isnan(value) ? Wide<T>{0} : value; }
};

template <class T, bool kMasked>
SoftmaxRows<T, kMasked> rows_of(const ops::Softmax& op, const KernelArgs& args) {
  const TensorView& y = args.out[0];
  const size_t rank = y.type.shape.size(), last = rank - 1;
  SoftmaxRows<T, kMasked> rows{};
  std::array<AxisStrides, SoftmaxRows<T, kMasked>::kNum> strides{};
  strides[kX] = strides_in(args.in[0].type, rank);
  strides[kY] = strides_in(y.type, rank);
  if constexpr (kMasked) {
    for (size_t i = 1; i < 3; ++i)
      if (args.has(i)) strides[i + 1] = strides_in(args.in[i].type, rank);
    const bool is_bool = args.has(2) && args.in[2].type.dtype == DType::kBool;
    if (args.has(1)) rows.bias = static_cast<const T*>(args.in[1].data);
    if (args.has(2) && is_bool) rows.kept = static_cast<const bool*>(args.in[2].data);
    if (args.has(2) && !is_bool) rows.added = static_cast<const T*>(args.in[2].data);
  }
  rows.outer = make_layout<SoftmaxRows<T, kMasked>::kNum>(std::span<const int64_t>(y.type.shape).first(last), strides);
  rows.width = y.type.shape[last];
  for (size_t i = 0; i < strides.size(); ++i) rows.step[i] = strides[i][last];
  rows.x = static_cast<const T*>(args.in[0].data);
  rows.y = static_cast<T*>(y.data);
  rows.fill = static_cast<Wide<T>>(op.fill);
  rows.log = op.log;
  rows.zero_nan = op.zero_nan;
  return rows;
}

// A row in the registers of a group of lanes.
template <class T, class Tile, bool kMasked>
__global__ void __launch_bounds__(kBlock) tile(const __grid_constant__ SoftmaxRows<T, kMasked> rows) {
  const int64_t row = Tile::row(), width = rows.width;
  const bool live = row < rows.outer.count;
  int64_t at[SoftmaxRows<T, kMasked>::kNum];
  rows.outer.offsets(live ? row : 0, at);
  float value[Tile::kValues], max = -INFINITY, sum = 0;
  Tile::load(rows.x + at[kX], rows.step[kX], width, -INFINITY, value);
  if constexpr (kMasked)
    Tile::for_each_access(width, [&](int i, int access) {
#pragma unroll
      for (int k = 0; k < Tile::kWidth; ++k)
        value[i + k] = rows.z(value[i + k], at, int64_t{access} * Tile::kWidth + k);
    });
#pragma unroll
  for (float v : value) max = fmaxf(max, v);
  max = reduce_row<Tile>(max, Largest{});
  Tile::for_each_access(width, [&](int i, int) {
#pragma unroll
    for (int k = i; k < i + Tile::kWidth; ++k) {
      const float power = expf(value[k] - max);
      sum += power;
      value[k] = rows.log ? value[k] - max : power;
    }
  });
  sum = reduce_row<Tile>(sum, Sum{});
  const float factor = rows.log ? logf(sum) : 1.0f / sum;
#pragma unroll
  for (float& v : value) v = rows.result(rows.log ? v - factor : v * factor);
  if (live) Tile::store(rows.y + at[kY], rows.step[kY], width, value);
}

// A block a row, of any width and strides; what the exponentials are of stays in shared memory where it fits.
template <class T, bool kMasked>
__global__ void __launch_bounds__(kBlock) block(const __grid_constant__ SoftmaxRows<T, kMasked> rows, bool keep) {
  using W = Wide<T>;
  extern __shared__ __align__(16) unsigned char shared[];
  W* kept = keep ? reinterpret_cast<W*>(shared) : nullptr;  // (width)
  int64_t at[SoftmaxRows<T, kMasked>::kNum];
  rows.outer.offsets(blockIdx.x, at);
  const auto read = [&](int64_t i) { return rows.z(widen(rows.x[at[kX] + i * rows.step[kX]]), at, i); };
  const auto again = [&](int64_t i) { return kept != nullptr ? kept[i] : read(i); };
  W max = -INFINITY, sum = 0;
  for (int64_t i = threadIdx.x; i < rows.width; i += kBlock) {
    const W z = read(i);
    if (kept != nullptr) kept[i] = z;
    max = Largest{}(max, z);
  }
  max = reduce_block(max, Largest{});
  for (int64_t i = threadIdx.x; i < rows.width; i += kBlock) sum += exp(again(i) - max);
  sum = reduce_block(sum, Sum{});
  const W factor = rows.log ? log(sum) : W{1} / sum;
  for (int64_t i = threadIdx.x; i < rows.width; i += kBlock) {
    const W shifted = again(i) - max;
    rows.y[at[kY] + i * rows.step[kY]] = narrow<T>(rows.result(rows.log ? shifted - factor : exp(shifted) * factor));
  }
}

bool is_masked(const ops::Softmax& op, const KernelArgs& args) { return args.has(1) || args.has(2) || op.zero_nan; }

template <bool kMasked>
void launch_tile(const ops::Softmax& op, const KernelArgs& args) {
  visit_16_or_32_bits(args.out[0].type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto rows = rows_of<T, kMasked>(op, args);
    if (rows.outer.count == 0) return;
    Rows shape_only;
    shape_only.outer.count = rows.outer.count;
    shape_only.width = rows.width;
    visit_tile<T>(shape_only, *static_cast<const bool*>(args.state), [&](auto shape) {
      using Shape = decltype(shape);
      tile<T, Shape, kMasked><<<blocks_for(rows.outer.count, Shape::kRowsPerBlock), kBlock, 0, stream_of(args)>>>(rows);
    });
  });
}

template <bool kMasked>
void launch_block(const ops::Softmax& op, const KernelArgs& args) {
  visit_float(args.out[0].type.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto rows = rows_of<T, kMasked>(op, args);
    if (rows.outer.count == 0) return;
    const size_t bytes = block_row_bytes<T>(rows.width);
    block<T, kMasked><<<blocks_for(rows.outer.count, 1), kBlock, bytes, stream_of(args)>>>(rows, bytes > 0);
  });
}

void run_tile(const ops::Softmax& op, const KernelArgs& args) {
  is_masked(op, args) ? launch_tile<true>(op, args) : launch_tile<false>(op, args);
}

void run_block(const ops::Softmax& op, const KernelArgs& args) {
  is_masked(op, args) ? launch_block<true>(op, args) : launch_block<false>(op, args);
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
