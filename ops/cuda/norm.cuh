#pragma once

#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/row.cuh"
#include "ops/op.h"

namespace plica::cuda {

// y = (x - mean) / sqrt(variance + eps) * gamma + beta, or with !kCentred x / sqrt(mean square + eps) * gamma + beta, over the
// last axis: all that LayerNorm and RmsNorm are. Operands: x, gamma?, beta?.
struct NormRows {
  Rows rows;
  int64_t gamma_step = 0, beta_step = 0;
  float eps = 0;
  double wide_eps = 0;
  bool constant = false;  // gamma and beta may be read before earlier kernels are done
  bool few = false;       // all blocks run at once, with room for more
};

// The values of an operand (C) that all rows share, at a thread's accesses.
template <class T, class Tile>
struct SharedValues {
  RawPack<T, Tile::kWidth> raw[Tile::kSteps];

  __device__ void load(const T* values, int64_t step, int64_t width) {
    if (values == nullptr) return;
    Tile::for_each_access(width, [&](int i, int access) {
      raw[i / Tile::kWidth] = *reinterpret_cast<const RawPack<T, Tile::kWidth>*>(
          values + (Tile::kWidth > 1 ? access * Tile::kWidth : access * step));
    });
  }
  template <class Fn>
  __device__ void each(int i, Fn&& fn) const {
    take_apart<T, Tile::kWidth>(raw[i / Tile::kWidth], fn);
  }
};

// kNum rows in the registers of a group of lanes, all loads before the first sum; moments in two passes over them.
template <bool kCentred, class T, class Tile, int kNum>
__global__ void __launch_bounds__(kBlock)
    norm_tile(const __grid_constant__ NormRows norm, const T* __restrict__ x, const T* __restrict__ gamma,
              const T* __restrict__ beta, T* __restrict__ y) {
  const int64_t first = int64_t{blockIdx.x} * (Tile::kRowsPerBlock * kNum) + threadIdx.x / Tile::kLanes;
  const int64_t width = norm.rows.width;
  constexpr bool kAhead = Tile::kSteps <= 2;  // there are registers for them
  SharedValues<T, Tile> factor, offset;
  const auto load_shared = [&] {
    factor.load(gamma, norm.gamma_step, width);
    offset.load(beta, norm.beta_step, width);
  };
  if (norm.few) let_next_begin();
  if (kAhead && norm.constant) load_shared();
  wait_for_earlier();
  int64_t at[kNum][2];
  typename Tile::template Raw<T> raw[kNum];
#pragma unroll
  for (int n = 0; n < kNum; ++n) {
    const int64_t row = first + n * Tile::kRowsPerBlock;
    norm.rows.outer.offsets(row < norm.rows.outer.count ? row : 0, at[n]);
    Tile::fetch(x + at[n][0], norm.rows.x_step, width, raw[n]);
  }
  if (kAhead && !norm.constant) load_shared();
#pragma unroll
  for (int n = 0; n < kNum; ++n) {
    float value[Tile::kValues], sum = 0, squares = 0, mean = 0;
    Tile::template unpack<T>(raw[n], width, 0.0f, value);
    if constexpr (kCentred) {
#pragma unroll
      for (float v : value) sum += v;
      mean = reduce_row<Tile>(sum, Sum{}) / static_cast<float>(width);
    }
    Tile::for_each_access(width, [&](int i, int) {
#pragma unroll
      for (int k = i; k < i + Tile::kWidth; ++k) squares += (value[k] - mean) * (value[k] - mean);
    });
    const float scale = 1.0f / sqrtf(reduce_row<Tile>(squares, Sum{}) / static_cast<float>(width) + norm.eps);
    if (!kAhead) load_shared();
    Tile::for_each_access(width, [&](int i, int) {
#pragma unroll
      for (int k = i; k < i + Tile::kWidth; ++k) value[k] = (value[k] - mean) * scale;
      if (gamma != nullptr) factor.each(i, [&](int k, float g) { value[i + k] *= g; });
      if (beta != nullptr) offset.each(i, [&](int k, float b) { value[i + k] += b; });
    });
    if (first + n * Tile::kRowsPerBlock < norm.rows.outer.count)
      Tile::store(y + at[n][1], norm.rows.y_step, width, value);
  }
}

// A block a row, of any width and strides; the row stays in shared memory where it fits.
template <bool kCentred, class T>
__global__ void __launch_bounds__(kBlock)
    norm_block(const __grid_constant__ NormRows norm, const T* __restrict__ x, const T* __restrict__ gamma,
               const T* __restrict__ beta, T* __restrict__ y, bool keep) {
  using W = Wide<T>;
  extern __shared__ __align__(16) unsigned char shared[];
  int64_t at[2];
  norm.rows.outer.offsets(blockIdx.x, at);
  const BlockRow<T> row{x + at[0], norm.rows.x_step, keep ? reinterpret_cast<W*>(shared) : nullptr};
  const int64_t width = norm.rows.width;
  W sum = 0, squares = 0, mean = 0;
  for (int64_t i = threadIdx.x; i < width; i += kBlock) sum += row.read(i);
  if constexpr (kCentred) mean = reduce_block(sum, Sum{}) / static_cast<W>(width);
  for (int64_t i = threadIdx.x; i < width; i += kBlock) squares += (row.again(i) - mean) * (row.again(i) - mean);
  const W variance = reduce_block(squares, Sum{}) / static_cast<W>(width);
  const W scale = W{1} / sqrt(variance + static_cast<W>(norm.wide_eps));
  for (int64_t i = threadIdx.x; i < width; i += kBlock) {
    W v = (row.again(i) - mean) * scale;
    if (gamma != nullptr) v *= widen(gamma[i * norm.gamma_step]);
    if (beta != nullptr) v += widen(beta[i * norm.beta_step]);
    y[at[1] + i * norm.rows.y_step] = narrow<T>(v);
  }
}

constexpr int64_t kManyRows = 1 << 14;  // of 16 bits, a thread has several at once: one's loads hide another's sums

template <bool kCentred>
struct NormKernels {
  struct State {
    bool vectors = false, constant = true;
  };

  static NormRows rows_of_norm(double eps, const KernelArgs& args) {
    NormRows norm{rows_of(args.in[0], args.out[0])};
    norm.eps = static_cast<float>(eps);
    norm.wide_eps = eps;
    if (args.has(1)) norm.gamma_step = strides_in(args.in[1].type, 1)[0];
    if (args.has(2)) norm.beta_step = strides_in(args.in[2].type, 1)[0];
    return norm;
  }

  template <class T>
  static const T* operand(const KernelArgs& args, size_t i) {
    return args.has(i) ? static_cast<const T*>(args.in[i].data) : nullptr;
  }

  static State state_of(const Case& c) {
    State state{rows_are_vectors({&c.in[0], &c.out[0]}, {&c.in[1]})};
    if (c.has(2)) state.vectors &= rows_are_vectors({&c.in[0]}, {&c.in[2]});
    for (size_t i = 1; i < c.in.size(); ++i)
      if (c.has(i)) state.constant &= c.in[i].constant != nullptr;
    return state;
  }

  template <class Attrs>
  static const char* declines_tile(const Attrs&, const Case& c) {
    return tile_declines(c, state_of(c).vectors);
  }
  template <class Attrs>
  static Result<KernelState> prepare_tile(const Attrs&, const Case& c, ConstantStore&) {
    return KernelState(std::make_shared<const State>(state_of(c)));
  }

  template <class Attrs>
  static void run_tile(const Attrs& op, const KernelArgs& args) {
    const State& state = *static_cast<const State*>(args.state);
    NormRows norm = rows_of_norm(op.eps, args);
    norm.constant = state.constant;
    if (norm.rows.outer.count == 0) return;
    visit_16_or_32_bits(args.in[0].type.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      norm.few = sizeof(T) == 2 && norm.rows.outer.count <= kFewBlocks;  // blocks have a row or more
      visit_tile<T>(norm.rows, state.vectors, [&](auto shape) {
        using Shape = decltype(shape);
        constexpr bool kShort = Shape::kSteps == 1 && Shape::kLanes <= kWarp;  // longer ones of a step are for few rows
        constexpr int kNum = kShort && sizeof(T) == 2 ? 4 : 1;
        const bool many = norm.rows.outer.count >= kManyRows;
        const int64_t rows_a_block = many ? kNum * Shape::kRowsPerBlock : Shape::kRowsPerBlock;
        launch_early({blocks_for(norm.rows.outer.count, rows_a_block), kBlock, 0, stream_of(args)},
                     many ? norm_tile<kCentred, T, Shape, kNum> : norm_tile<kCentred, T, Shape, 1>, norm,
                     operand<T>(args, 0), operand<T>(args, 1), operand<T>(args, 2), static_cast<T*>(args.out[0].data));
      });
    });
  }

  template <class Attrs>
  static void run_block(const Attrs& op, const KernelArgs& args) {
    const NormRows norm = rows_of_norm(op.eps, args);
    if (norm.rows.outer.count == 0) return;
    visit_float(args.in[0].type.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const size_t bytes = block_row_bytes<T>(norm.rows.width);
      norm_block<kCentred, T><<<blocks_for(norm.rows.outer.count, 1), kBlock, bytes, stream_of(args)>>>(
          norm, operand<T>(args, 0), operand<T>(args, 1), operand<T>(args, 2), static_cast<T*>(args.out[0].data),
          bytes > 0);
    });
  }
};

}  // namespace plica::cuda
