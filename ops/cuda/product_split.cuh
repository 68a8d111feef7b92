// Long because all that a block does with a tile stands together.
#pragma once

#include <cuda.h>

#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/cuda/matrix_fragments.cuh"
#include "ops/cuda/wgmma.cuh"

namespace plica::cuda::split {

constexpr int kRows = 128, kColumns = 128, kDepth = 32;  // of a tile of y; of a stage
constexpr int kGroupThreads = 128, kConsumers = 2 * kGroupThreads, kThreads = kConsumers + kGroupThreads;
constexpr int kConsumerRegisters = 240, kProducerRegisters = 24;
constexpr int kLine = 128, kTileBytes = 128 * kLine;  // of a stage's part of a, or of b
constexpr int kStages = 4, kBuffers = 3;

// y (batch, m, n) = alpha * a (batch, m, k) @ b (batch, k, n) in fp32.
struct SplitProduct {
  CUtensorMap a, b;    // boxes of 32 of k by 128 rows, or, of matrices that lie in columns, 32 rows by 32 of k
  float* y = nullptr;  // rows of adjacent values
  int64_t y_row = 0, y_batch = 0;
  int64_t tiles = 0;
  Divider by_columns, by_matrix;  // tiles of a row of y, of a matrix
  int across = 1, in_matrix = 1;  // how many
  int m = 0, n = 0, steps = 0;    // steps: pairs of stages
  bool a_batched = true, b_batched = true;
  float alpha = 1;
};

struct Barriers {
  uint64_t full[kStages], empty[kStages];
};

// Where unit `unit` (16 bytes) of a line of 128 bytes stands.
__device__ inline uint32_t place_in_line(int line, int unit) { return line * kLine + (unit ^ line % 8) * 16; }

// Where a value stands that has been brought from a matrix that lies in columns: boxes of 32 rows, lines of k.
__device__ inline uint32_t place_in_columns(int row, int k) {
  return row / 32 * (32 * kLine) + place_in_line(k, row % 32 / 4) + row % 4 * 4;
}

struct TilePlace {
  int batch, row, column;
};
__device__ inline TilePlace place_of(const SplitProduct& p, uint32_t tile) {
  const uint32_t batch = p.by_matrix(tile), here = tile - batch * p.in_matrix, row = p.by_columns(here);
  return {static_cast<int>(batch), static_cast<int>(row) * kRows, static_cast<int>(here - row * p.across) * kColumns};
}

__device__ inline void copy_tile(uint32_t to, const CUtensorMap& map, int inner, int outer, int batch,
                                 uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];" ::"r"(to),
      "l"(&map), "r"(inner), "r"(outer), "r"(batch), "r"(shared_address(barrier))
      : "memory");
}

template <bool kInColumns>
__device__ void bring(uint32_t to, const CUtensorMap& map, int row, int k, int batch, uint64_t* barrier) {
  if constexpr (kInColumns) {
#pragma unroll
    for (int box = 0; box < 4; ++box) copy_tile(to + box * 32 * kLine, map, row + box * 32, k, batch, barrier);
  } else {
    copy_tile(to, map, k, row, batch, barrier);
  }
}

struct Ring {
  int slot = 0;
  uint32_t phase = 0;
  __device__ void next() {
    if (++slot == kStages) slot = 0, phase ^= 1;
  }
};

// fp32 as a number that tf32 holds plus the rest.
__device__ inline float high_of(float x) { return __uint_as_float(__float_as_uint(x) & 0xffffe000u); }

// What tf32 leaves of two numbers, in bf16; 0 of one that is not finite.
__device__ inline uint32_t rests_of(float first, float second) {
  const uint32_t bits = narrow_pair<BF16>(first - high_of(first), second - high_of(second));
  const auto rests = *reinterpret_cast<const __nv_bfloat162*>(&bits);
  return bits & __heq2_mask(rests, rests);
}

// A warpgroup: 64 rows of a tile.
template <bool kColumnsOfA, bool kColumnsOfB>
struct Consumer {
  const SplitProduct& p;
  Barriers& barriers;
  uint32_t stages, parts, highs;  // addresses; highs: of b in lines of k, where it does not lie so

  struct Factor {
    uint32_t tf32[4][4], high[2][4], low[2][4];
  };

  __device__ static int thread() { return threadIdx.x % kGroupThreads; }
  __device__ static int group() { return threadIdx.x / kGroupThreads; }
  __device__ static int lane() { return threadIdx.x % kWarp; }
  __device__ static int row(int r) { return group() * 64 + thread() / kWarp * 16 + r * 8 + lane() / 4; }

  __device__ void take(uint32_t from, Factor& f) const {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if constexpr (kColumnsOfA) {
#pragma unroll
        for (int i = 0; i < 4; ++i)
          f.tf32[k][i] = shared_at<uint32_t>(from + place_in_columns(row(i % 2), k * 8 + i / 2 * 4 + lane() % 4));
      } else {
        load_matrices(f.tf32[k],
                      from + place_in_line(group() * 64 + thread() / kWarp * 16 + lane() % 16, k * 2 + lane() / 16));
      }
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      uint32_t &first = f.tf32[i / 2][i % 2], &second = f.tf32[i / 2][i % 2 + 2];
      const float x = __uint_as_float(first), z = __uint_as_float(second), near_x = high_of(x), near_z = high_of(z);
      f.high[i / 4][i / 2 % 2 * 2 + i % 2] = narrow_pair_within<BF16>(near_x, near_z);
      f.low[i / 4][i / 2 % 2 * 2 + i % 2] = rests_of(x, z);
      first = __float_as_uint(near_x), second = __float_as_uint(near_z);
    }
  }

  // This warpgroup's half of b's columns: a line of bf16 for each, itself and then what tf32 leaves, in eights of k
  // 0 4 1 5 2 6 3 7 as they stand in fragments.
  __device__ void part(uint32_t from, uint32_t to, uint32_t to_highs) const {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int line = group() * 64 + thread() % 64, eight = thread() / 64 + j * 2;
      float v[8];
      if constexpr (kColumnsOfB) {
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = shared_at<float>(from + place_in_columns(line, eight * 8 + i));
#pragma unroll
        for (int i = 0; i < 2; ++i)
          shared_at<float4>(to_highs + place_in_line(line, eight * 2 + i)) = {v[i * 4], v[i * 4 + 1], v[i * 4 + 2],
                                                                              v[i * 4 + 3]};
      } else {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const float4 four = shared_at<float4>(from + place_in_line(line, eight * 2 + i));
          v[i * 4] = four.x, v[i * 4 + 1] = four.y, v[i * 4 + 2] = four.z, v[i * 4 + 3] = four.w;
        }
      }
      uint4 whole, rest;
      uint32_t* const w = &whole.x;
      uint32_t* const r = &rest.x;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        w[i] = narrow_pair_within<BF16>(v[i], v[i + 4]);
        r[i] = rests_of(v[i], v[i + 4]);
      }
      shared_at<uint4>(to + place_in_line(line, eight)) = whole;
      shared_at<uint4>(to + place_in_line(line, 4 + eight)) = rest;
    }
  }

  // Queues one stage; the one before is done behind it.
  __device__ __forceinline__ void step(Factor& f, float (&sum)[64], Ring& ring, int& buffer, bool first) {
    const uint32_t stage = stages + ring.slot * (2 * kTileBytes);
    wait_barrier(&barriers.full[ring.slot], ring.phase);
    const uint32_t part_to = parts + buffer * kTileBytes, high_to = highs + buffer * kTileBytes;
    part(stage + kTileBytes, part_to, high_to);
    take(stage, f);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync 1, 256;" ::: "memory");
    const uint64_t b = matrix_in_shared(kColumnsOfB ? high_to : stage + kTileBytes),
                   b_parts = matrix_in_shared(part_to);
    fence_products();
#pragma unroll
    for (int k = 0; k < 2; ++k) multiply_add<BF16>(sum, f.low[k], b_parts + 2 * k, !first || k > 0);
#pragma unroll
    for (int k = 0; k < 2; ++k) multiply_add<BF16>(sum, f.high[k], b_parts + 4 + 2 * k, true);
#pragma unroll
    for (int k = 0; k < 4; ++k) multiply_add<float>(sum, f.tf32[k], b + 2 * k, true);
    commit_products();
    wait_for_products<1>();
    if (!first && lane() == 0) arrive(&barriers.empty[ring.slot == 0 ? kStages - 1 : ring.slot - 1]);
    ring.next();
    if (++buffer == kBuffers) buffer = 0;
  }

  __device__ void run() {
    Ring ring;
    int buffer = 0;
#pragma unroll 1
    for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
      float sum[64];
      Factor even, odd;
#pragma unroll 1
      for (int s = 0; s < p.steps; ++s) {
        step(even, sum, ring, buffer, s == 0);
        step(odd, sum, ring, buffer, false);
      }
      wait_for_products<0>();
      pin_registers(sum);
      if (lane() == 0) arrive(&barriers.empty[ring.slot == 0 ? kStages - 1 : ring.slot - 1]);
      store(sum, place_of(p, static_cast<uint32_t>(tile)));
    }
  }

  __device__ void store(const float (&sum)[64], const TilePlace& at) const {
    const int column = at.column + lane() % 4 * 2;
    float* y = p.y + at.batch * p.y_batch + column;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int i = at.row + row(r);
      if (i >= p.m) continue;
#pragma unroll
      for (int j = 0; j < 16; ++j)
        if (column + j * 8 < p.n)
          *reinterpret_cast<float2*>(y + i * p.y_row + j * 8) = {p.alpha * sum[j * 4 + r * 2],
                                                                 p.alpha * sum[j * 4 + r * 2 + 1]};
    }
  }
};

// A block makes tile after tile of 128 x 128. One thread fills a ring of stages by tensor copies; two warpgroups take 64 rows of
// a as fragments, make of b what its bf16 products take, and add up a_low @ b + a_high @ b_low in bf16 and a_high @ b_high
// in tf32: to 2^-19 of |a| |b|. What is not finite is so in tf32 alone. 384 threads; shared memory: shared_bytes.
template <bool kColumnsOfA, bool kColumnsOfB>
__global__ void __launch_bounds__(kThreads, 1) split_product(const __grid_constant__ SplitProduct p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) unsigned char shared[];
  __shared__ Barriers barriers;
  const uint32_t stages = shared_address(shared), parts = stages + kStages * 2 * kTileBytes;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) init_barrier(&barriers.full[i], 1), init_barrier(&barriers.empty[i], 8);
    fence_barrier_init();
  }
  __syncthreads();
  wait_for_earlier();
  if (threadIdx.x >= kConsumers) {
    release_registers<kProducerRegisters>();
    if (threadIdx.x != kConsumers) return;
    Ring ring;
    for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
      const TilePlace at = place_of(p, static_cast<uint32_t>(tile));
      for (int k = 0; k < p.steps * 2 * kDepth; k += kDepth) {
        uint64_t* full = &barriers.full[ring.slot];
        wait_barrier(&barriers.empty[ring.slot], ring.phase ^ 1);
        arrive_expecting(full, 2 * kTileBytes);
        const uint32_t to = stages + ring.slot * (2 * kTileBytes);
        bring<kColumnsOfA>(to, p.a, at.row, k, p.a_batched ? at.batch : 0, full);
        bring<kColumnsOfB>(to + kTileBytes, p.b, at.column, k, p.b_batched ? at.batch : 0, full);
        ring.next();
      }
    }
  } else {
    take_registers<kConsumerRegisters>();
    Consumer<kColumnsOfA, kColumnsOfB>{p, barriers, stages, parts, parts + kBuffers * kTileBytes}.run();
  }
#endif
}

inline size_t shared_bytes(bool columns_of_b) {
  return static_cast<size_t>(kStages * 2 + kBuffers * (columns_of_b ? 2 : 1)) * kTileBytes;
}

}  // namespace plica::cuda::split
