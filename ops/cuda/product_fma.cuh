#pragma once

#include "ops/cuda/product_block.cuh"

namespace plica::cuda {

// A block makes kRows x kColumns of y, a thread kDown x 4 of it: rows kRowStep apart, columns that are neighbours.
template <int kRows_, int kColumns_, int kDown_, int kDepth_, int kStages_>
struct FmaTile {
  static constexpr int kRows = kRows_, kColumns = kColumns_, kDown = kDown_, kDepth = kDepth_, kStages = kStages_;
  static constexpr int kAcross = kColumns / 4, kRowStep = kRows / kDown, kThreads = kAcross * kRowStep;
  static constexpr int kAPitch = kDepth + 4, kBPitch = kColumns;  // floats: neighbouring rows of a start 4 banks apart
  static constexpr int kAFloats = kRows * kAPitch, kStageFloats = kAFloats + kDepth * kBPitch;
  static constexpr int kAUnits = kRows * kDepth / 4, kBUnits = kDepth * kColumns / 4;
  static constexpr int kRowsAThread = (kAUnits + kThreads - 1) / kThreads;
  using Sums = SumTile<kRows, kColumns, kThreads>;
  static constexpr int kSharedBytes =
      kStages * kStageFloats * 4 > Sums::kBytes ? kStages* kStageFloats * 4 : Sums::kBytes;
  static_assert(kAUnits % kThreads == 0 && kBUnits % kThreads == 0);
};

// What a thread brings of a (kRows rows from `row`) and b (kColumns from `column`), kDepth of k at a time.
template <class Tile>
struct FmaLoader {
  static constexpr int kAUnits = Tile::kDepth / 4, kBUnits = Tile::kColumns / 4;  // of 16 bytes, in a row
  static constexpr int kAStep = Tile::kThreads / kAUnits, kBStep = Tile::kThreads / kBUnits;
  static constexpr int kBRows = Tile::kDepth / kBStep;
  static_assert(Tile::kThreads % kAUnits == 0 && Tile::kThreads % kBUnits == 0 && Tile::kDepth % kBStep == 0);
  const float* a_from[Tile::kRowsAThread];  // null: no row of a
  const float* b_from;
  float *a_to, *b_to;
  int64_t b_row;
  int a_left, b_left;  // of k, from this thread's place on; b_left is 0 where there is no column

  __device__ FmaLoader(const BlockProduct& p, float* stages, int row, int column, int k) : b_row(p.b_row) {
    const int r = static_cast<int>(threadIdx.x) / kAUnits, unit = threadIdx.x % kAUnits * 4;
#pragma unroll
    for (int i = 0; i < Tile::kRowsAThread; ++i) {
      a_from[i] = nullptr;
      if (row + r + i * kAStep >= p.m) continue;
      int64_t at[3];
      p.rows.offsets(row + r + i * kAStep, at);
      a_from[i] = static_cast<const float*>(p.a) + at[0] + k + unit;
    }
    a_to = stages + r * Tile::kAPitch + unit;
    a_left = p.k - k - unit;
    const int depth = static_cast<int>(threadIdx.x) / kBUnits, c = threadIdx.x % kBUnits * 4;
    b_from = static_cast<const float*>(p.b) + (k + depth) * b_row + column + c;
    b_to = stages + Tile::kAFloats + depth * Tile::kBPitch + c;
    b_left = column + c < p.n ? p.k - k - depth : 0;
  }
  __device__ void load_a(int slot, int i) const {
#pragma unroll
    for (int j = 0; j < Tile::kRowsAThread; ++j) {
      const bool inside = a_from[j] != nullptr && i * Tile::kDepth < a_left;
      copy_16_async(a_to + slot * Tile::kStageFloats + j * kAStep * Tile::kAPitch,
                    inside ? a_from[j] + i * Tile::kDepth : b_from, inside);
    }
  }
  __device__ void load_b(int slot, int i) const {
    const float* from = b_from + i * Tile::kDepth * b_row;
#pragma unroll
    for (int j = 0; j < kBRows; ++j) {
      const bool inside = i * Tile::kDepth + j * kBStep < b_left;
      copy_16_async(b_to + slot * Tile::kStageFloats + j * kBStep * Tile::kBPitch, inside ? from : b_from, inside);
      from += kBStep * b_row;
    }
  }
};

// sum += the stage's a @ b.
template <class Tile>
__device__ void multiply_stage(const float* stage, float (&sum)[Tile::kDown][4]) {
  const float* a = stage + threadIdx.x / Tile::kAcross * Tile::kAPitch;
  const float* b = stage + Tile::kAFloats + threadIdx.x % Tile::kAcross * 4;
#pragma unroll
  for (int k = 0; k < Tile::kDepth; k += 4) {
    float4 left[Tile::kDown];
#pragma unroll
    for (int i = 0; i < Tile::kDown; ++i)
      left[i] = *reinterpret_cast<const float4*>(a + i * Tile::kRowStep * Tile::kAPitch + k);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float4 right = *reinterpret_cast<const float4*>(b + (k + j) * Tile::kBPitch);
#pragma unroll
      for (int i = 0; i < Tile::kDown; ++i) {
        const float value = j == 0 ? left[i].x : j == 1 ? left[i].y : j == 2 ? left[i].z : left[i].w;
        sum[i][0] = fmaf(value, right.x, sum[i][0]);
        sum[i][1] = fmaf(value, right.y, sum[i][1]);
        sum[i][2] = fmaf(value, right.z, sum[i][2]);
        sum[i][3] = fmaf(value, right.w, sum[i][3]);
      }
    }
  }
}

// f32 by multiply-adds: a ring of kStages stages of kDepth of k. The blocks of a cluster share k. Grid: ranks in the cluster,
// tiles of columns, tiles of rows. Shared memory: the stages, whose place the sums take.
template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads) product_fma(const __grid_constant__ BlockProduct p) {
  extern __shared__ float4 shared_vectors[];
  auto* shared = reinterpret_cast<float*>(shared_vectors);
  constexpr int kAhead = Tile::kStages - 1;
  const int num_ranks = gridDim.x, row = blockIdx.z * Tile::kRows, column = blockIdx.y * Tile::kColumns;
  const auto [begin, num] = stretch_of(p);
  const FmaLoader<Tile> loader(p, shared, row, column, begin * Tile::kDepth);
  if (!p.constant_b) wait_for_earlier();
  for (int i = 0; i < kAhead && i < num; ++i) loader.load_b(i, i);
  if (p.constant_b) wait_for_earlier();
#pragma unroll
  for (int i = 0; i < kAhead; ++i) {
    if (i < num) loader.load_a(i, i);
    commit_copies();
  }
  Finisher<float, typename Tile::Sums> finisher(p, row, column);
  float sum[Tile::kDown][4] = {};
  for (int i = 0, slot = 0, next = kAhead; i < num; ++i) {
    wait_for_copies<kAhead - 1>();
    __syncthreads();
    if (i + kAhead < num) {
      loader.load_a(next, i + kAhead);
      loader.load_b(next, i + kAhead);
    }
    commit_copies();
    multiply_stage<Tile>(shared + slot * Tile::kStageFloats, sum);
    if (++slot == Tile::kStages) slot = 0;
    if (++next == Tile::kStages) next = 0;
  }
  wait_for_copies<0>();
  __syncthreads();  // nobody multiplies any more
  const int r = threadIdx.x / Tile::kAcross, c = threadIdx.x % Tile::kAcross * 4;
#pragma unroll
  for (int i = 0; i < Tile::kDown; ++i)
    *reinterpret_cast<float4*>(shared + (r + i * Tile::kRowStep) * Tile::Sums::kPitch + c) = {sum[i][0], sum[i][1],
                                                                                              sum[i][2], sum[i][3]};
  if (num_ranks > 1)
    sync_cluster();
  else
    __syncthreads();
  finisher.run(shared);
}

}  // namespace plica::cuda
