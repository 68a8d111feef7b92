#pragma once

#include "ops/cuda/activation.cuh"
#include "ops/cuda/async_copy.cuh"
#include "ops/cuda/cluster.cuh"
#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/element.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/cuda/raw_pack.cuh"
#include "ops/mat_mul.h"
#include "ops/op.h"

namespace plica::cuda {

// y = activation(alpha * (a @ b) + bias) + residual with one b for all rows. Columns of all operands are contiguous, and
// whole vectors of 16 bytes, aligned so.
struct BlockProduct {
  Layout<3> rows;  // a, y, residual
  int m = 0, n = 0, k = 0;
  bool constant_b = false;  // b may be read before earlier kernels are done
  ops::Activation activation = ops::Activation::kNone;
  float alpha = 1;
  int64_t b_row = 0;
  int stages = 0, more_stages = 0;  // of k, of a block; the first blocks of a cluster have one more
  const void *a = nullptr, *b = nullptr, *bias = nullptr, *residual = nullptr;  // (m, k), (k, n), (n), (m, n)
  void* y = nullptr;                                                            // (m, n)
};

// All of a product but its operands' addresses, or why a case is none of these.
const char* make_block_product(const ops::MatMul& op, const Case& c, BlockProduct& p);
void set_operands(const KernelArgs& args, BlockProduct& p);

// What a kernel can be launched as, with times of an H200: of a stage, and of all else that a block does.
struct BlockTile {
  int rows, columns, depth, blocks_at_once;  // depth: of a stage; blocks of one multiprocessor
  double stage_us, block_us;
};
struct BlockChoice {
  int tile = 0, ranks = 1;
  double us = 0;
};
BlockChoice choose_tile(const BlockProduct& p, std::span<const BlockTile> tiles);

template <class Tile>
EarlyLaunch block_launch(BlockProduct& p, int depth, int ranks, cudaStream_t stream) {
  const int stages = static_cast<int>(ceil_div(p.k, depth));
  p.stages = stages / ranks;
  p.more_stages = stages % ranks;
  return {dim3(static_cast<unsigned>(ranks), static_cast<unsigned>(ceil_div(p.n, Tile::kColumns)),
               static_cast<unsigned>(ceil_div(p.m, Tile::kRows))),
          Tile::kThreads, Tile::kSharedBytes, stream, static_cast<unsigned>(ranks)};
}

// Blocks of a cluster take stretches of k each: the first stage of this block, and how many there are.
struct Stretch {
  int begin, num;
};
__device__ inline Stretch stretch_of(const BlockProduct& p) {
  const int rank = blockIdx.x;
  return {rank * p.stages + min(rank, p.more_stages), p.stages + (rank < p.more_stages)};
}

// A tile of sums in shared memory, (kRows, kColumns) with kPitch floats from row to row.
template <int kRows_, int kColumns_, int kThreads_>
struct SumTile {
  static constexpr int kRows = kRows_, kColumns = kColumns_, kThreads = kThreads_, kPitch = kColumns + 8;
  static constexpr int kBytes = kRows * kPitch * 4;
};

// What a thread writes of y: vectors of a tile's rows, all in the same columns, shared out among the blocks of a cluster.
template <class T, class Sums>
struct Finisher {
  static constexpr int kWidth = kVector<T>, kVectors = Sums::kColumns / kWidth, kStep = Sums::kThreads / kVectors;
  static constexpr int kMost = Sums::kRows / kStep;
  static_assert(Sums::kThreads % kVectors == 0 && Sums::kRows % kStep == 0);
  using Vector = Pack<T, kWidth>;
  const BlockProduct& p;
  int num_ranks, first_row, row, column;  // first_row: in the tile; row and column: where the tile starts
  Vector bias{}, residual[kMost];

  // Reads bias and residual: they are on their way while the block multiplies.
  __device__ Finisher(const BlockProduct& product, int tile_row, int tile_column)
      : p(product),
        num_ranks(gridDim.x),
        first_row(static_cast<int>(threadIdx.x) / kVectors + static_cast<int>(blockIdx.x) * kStep),
        row(tile_row),
        column(tile_column + static_cast<int>(threadIdx.x) % kVectors * kWidth) {
    if (p.bias != nullptr && column < p.n)
      bias = *reinterpret_cast<const Vector*>(static_cast<const T*>(p.bias) + column);
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      residual[i] = {};
      const int r = first_row + i * num_ranks * kStep;
      if (p.residual == nullptr || !is_mine(r)) continue;
      int64_t at[3];
      p.rows.offsets(row + r, at);
      residual[i] = *reinterpret_cast<const Vector*>(static_cast<const T*>(p.residual) + at[2] + column);
    }
  }

  // Adds up the tiles of the cluster, in the order of ranks; `sums` is complete in all its blocks.
  __device__ void run(const float* sums) {
    const int c = static_cast<int>(threadIdx.x) % kVectors * kWidth;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      const int r = first_row + i * num_ranks * kStep;
      if (!is_mine(r)) continue;
      float value[kWidth] = {};
      add_up(sums + r * Sums::kPitch + c, value);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) value[j] = value[j] * p.alpha + widen(bias.v[j]);
      activate<T>(p.activation, value);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) value[j] += widen(residual[i].v[j]);
      int64_t at[3];
      p.rows.offsets(row + r, at);
      *reinterpret_cast<Vector*>(static_cast<T*>(p.y) + at[1] + column) = put_together<T, kWidth>(value);
    }
    if (num_ranks > 1) leave_cluster();
  }

 private:
  __device__ bool is_mine(int r) const { return r < Sums::kRows && row + r < p.m && column < p.n; }

  __device__ void add_up(const float* own, float (&value)[kWidth]) const {
    if (num_ranks == 1) {
#pragma unroll
      for (int j = 0; j < kWidth; j += 4) add(*reinterpret_cast<const float4*>(own + j), value + j);
      return;
    }
    float4 part[kMostRanks][kWidth / 4];
#pragma unroll
    for (int from = 0; from < kMostRanks; ++from)
#pragma unroll
      for (int j = 0; j < kWidth / 4; ++j)
        if (from < num_ranks) part[from][j] = read_cluster(shared_address(own + 4 * j), static_cast<uint32_t>(from));
#pragma unroll
    for (int from = 0; from < kMostRanks; ++from)
#pragma unroll
      for (int j = 0; j < kWidth / 4; ++j)
        if (from < num_ranks) add(part[from][j], value + 4 * j);
  }
  __device__ static void add(const float4& part, float* value) {
    value[0] += part.x, value[1] += part.y, value[2] += part.z, value[3] += part.w;
  }
};

}  // namespace plica::cuda
