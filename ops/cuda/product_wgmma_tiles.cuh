// Long because the steps of the kernel, which share the shape of its tile, stand together.
#pragma once

#include "ops/cuda/approximate.cuh"
#include "ops/cuda/async_copy.cuh"
#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/matrix_fragments.cuh"
#include "ops/cuda/row_moments.cuh"
#include "ops/cuda/tensor_tile.cuh"
#include "ops/cuda/turned_columns.cuh"
#include "ops/cuda/wgmma_boxes.cuh"
#include "ops/mat_mul.h"

namespace plica::cuda {

// y = activation(a @ b + bias), or activation(norm(a) @ b + bias) by the moments of a's rows: scale * (a @ b - mean * column_sums) + bias.
struct TiledProduct {
  CUtensorMap a, b, y;         // (m, k), (k, n), (m, n)
  const void* bias = nullptr;  // (n)
  int m = 0, n = 0, k = 0;
  ops::Activation activation = ops::Activation::kNone;
  bool constant_b = false;       // b and bias may be read before earlier kernels are done
  int tile_rows = 0, tiles = 0;  // tiles in a column of them, and all
  // Of normed tiles:
  RowMoments moments;                  // each block has one tile
  const float* column_sums = nullptr;  // (n), of b; null where the norm has no mean
  TurnedColumns turned;                // without an activation
};

// Two warpgroups make tiles of kRows x kColumns. With kTurns they take them in turn, so that one multiplies while the other finishes
// what it has; else each makes half of the rows.
template <class T_, int kColumns_, bool kTurns_, int kStages_, bool kNormed_ = false>
struct ProductTile {
  using T = T_;
  static constexpr int kColumns = kColumns_, kStages = kStages_, kRows = 128, kDepth = 64;
  static constexpr bool kTurns = kTurns_, kNormed = kNormed_;
  static constexpr int kParts = kTurns ? 2 : 1,
                       kGroupRows = 64 * kParts;  // parts of 64 rows that a warpgroup multiplies
  static constexpr int kConsumers = 256, kThreads = kConsumers + (kTurns || kNormed ? 128 : kWarp);
  static constexpr int kLine = 128;                                                // bytes of a box's row
  static constexpr int kBoxes = (kColumns + 63) / 64, kBoxBytes = kDepth * kLine;  // of b, of a stage
  static constexpr int kABytes = kRows * kLine, kStageBytes = kABytes + kBoxes * kBoxBytes;
  // y leaves a warp in boxes of 16 rows.
  static constexpr int kOutColumns = kColumns % 64 == 0 ? 64 : 32, kOutLine = 2 * kOutColumns, kHeld = 2;
  static constexpr int kOutBoxBytes = 16 * kOutLine;
  struct Shared {
    alignas(1024) std::byte ring[kStages * kStageBytes];
    alignas(1024) std::byte out[kConsumers / kWarp * kHeld * kOutBoxBytes];
    uint64_t full[kStages], empty[kStages], taken[2];    // taken: a warpgroup has queued all products of its tile
    uint64_t normed;                                     // what follows is there
    alignas(16) float2 rows[kNormed ? kRows : 1];        // mean and scale
    alignas(16) float2 columns[kNormed ? kColumns : 1];  // sum and bias

    __device__ std::byte* a(int slot) { return ring + slot * kStageBytes; }
    __device__ std::byte* b(int slot) { return ring + slot * kStageBytes + kABytes; }
  };
  static constexpr int kSharedBytes = sizeof(Shared);
  static constexpr bool kMayTurn = kNormed && kColumns == 128;  // tiles hold whole heads
};

// Calls fn(first row, first column, whether it is the last) for each tile of this block.
template <class C, class Fn>
__device__ void each_tile(const TiledProduct& p, Fn&& fn) {
  const int step = gridDim.x;
  for (int tile = blockIdx.x; tile < p.tiles; tile += step)
    fn(tile % p.tile_rows * C::kRows, tile / p.tile_rows * C::kColumns, tile + step >= p.tiles);
}

// A place in the ring of stages.
template <class C>
struct Slot {
  int at = 0;
  uint32_t phase = 0;
  __device__ void skip(int num) {
    at += num;
    phase ^= at / C::kStages & 1;
    at %= C::kStages;
  }
  __device__ void next() {
    if (++at == C::kStages) at = 0, phase ^= 1;
  }
};

// Of the thread that brings the stages.
template <class C>
struct StageBringer {
  const TiledProduct& p;
  typename C::Shared& shared;

  __device__ void bring_b(int column, int i, int slot) const {
    arrive_expecting(&shared.full[slot], C::kStageBytes);
#pragma unroll
    for (int box = 0; box < C::kBoxes; ++box)
      copy_box(shared.b(slot) + box * C::kBoxBytes, p.b, column + box * 64, i * C::kDepth, &shared.full[slot]);
  }
  __device__ void bring_a(int row, int i, int slot) const {
    copy_box(shared.a(slot), p.a, i * C::kDepth, row, &shared.full[slot]);
  }
  __device__ void run(int num) const {
    Slot<C> slot{0, 1};
    bool is_first = true;
    each_tile<C>(p, [&](int row, int column, bool) {
      int i = 0;
      if (is_first) {
        const int ahead = min(num, C::kStages);
        for (int j = 0; j < ahead; ++j) bring_b(column, j, j);
        wait_for_earlier();
        for (int j = 0; j < ahead; ++j) bring_a(row, j, j);
        slot.skip(i = ahead);
        is_first = false;
      }
      for (; i < num; ++i, slot.next()) {
        wait_barrier(&shared.empty[slot.at], slot.phase);
        bring_b(column, i, slot.at);
        bring_a(row, i, slot.at);
      }
    });
  }
};

// Of three warps: makes moments of the block's share of rows, and brings what the norm adds to its one tile.
template <class C>
__device__ void bring_norm(const TiledProduct& p, typename C::Shared& shared) {
  using T = typename C::T;
  constexpr int kWarps = 3;
  const int warp = threadIdx.x / kWarp - (C::kThreads / kWarp - kWarps), lane = threadIdx.x % kWarp;
  each_tile<C>(p, [&](int row, int column, bool) {
    if (warp == 0)
      for (int i = lane; i < C::kColumns && column + i < p.n; i += kWarp)
        shared.columns[i] = {p.column_sums != nullptr ? __ldg(p.column_sums + column + i) : 0.0f,
                             p.bias != nullptr ? widen(static_cast<const T*>(p.bias)[column + i]) : 0.0f};
    wait_for_earlier();
    make_moments<T>(p.moments, warp, kWarps);
    if (warp == 0) {
      read_moments<T>(p.moments, row, C::kRows, gridDim.x * kWarps, shared.rows);
      arrive(&shared.normed);
    }
    __syncwarp();
    if (lane == 0) leave_moments(p.moments, gridDim.x * kWarps);
  });
}

// Of a warpgroup. In fragments of products a thread holds two columns in every 8 of two rows in every 16.
template <class C>
class TileMaker {
 public:
  using T = typename C::T;

  __device__ TileMaker(const TiledProduct& p, typename C::Shared& shared, int num)
      : p_(p), shared_(shared), num_(num) {}

  __device__ void run() {
    int turn = 0;
    each_tile<C>(p_, [&](int row, int column, bool is_last) {
      const bool mine = !C::kTurns || turn % 2 == group();
      if (mine) {
        Sums sums;
        begin(sums, column);
        if (C::kTurns && turn > 0) wait_barrier(&shared_.taken[1 - group()], (turn - 1) / 2 % 2);
        if constexpr (!C::kTurns) row += group() * C::kGroupRows;
        AngleWords angles;
        const TurnedColumns* turned = C::kMayTurn && p_.turned.holds(column) ? &p_.turned : nullptr;
        if (C::kMayTurn && turned != nullptr) load_angles<T>(*turned, row + warp_row(), p_.m, angles);
        multiply(sums);
        if (is_last) let_next_begin();
#pragma unroll
        for (int part = 0; part < C::kParts; ++part) {
          const int first = row + part * 64;
          if constexpr (C::kNormed) norm(sums[part], first, column);
          if constexpr (C::kMayTurn)
            if (turned != nullptr) turn_columns<T>(*turned, angles, sums[part]);
          finish(sums[part], first, column, turned);
        }
      } else {
        slot_.skip(num_);
      }
      ++turn;
    });
    if (lane() == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }

 private:
  using Part = float[C::kColumns / 2];
  using Sums = Part[C::kParts];

  __device__ static int group() { return threadIdx.x / 128; }
  __device__ static int lane() { return threadIdx.x % kWarp; }

  __device__ static int warp_row() { return threadIdx.x % 128 / kWarp * 16; }

  // Sums begin with the bias, where they are not scaled.
  __device__ void begin(Sums& sums, int column) const {
#pragma unroll
    for (int j = 0; j < C::kColumns / 8; ++j) {
      const int at = column + j * 8 + lane() % 4 * 2;
      float2 bias{};
      if (!C::kNormed && p_.bias != nullptr && at < p_.n)
        bias = widen_pair<T>(__ldg(reinterpret_cast<const uint32_t*>(static_cast<const T*>(p_.bias) + at)));
#pragma unroll
      for (Part& part : sums) {
        part[4 * j] = part[4 * j + 2] = bias.x;
        part[4 * j + 1] = part[4 * j + 3] = bias.y;
      }
    }
  }

  __device__ void multiply(Sums& sums) {
#pragma unroll 1
    for (int i = 0; i < num_; ++i) {
      const int before = slot_.at == 0 ? C::kStages - 1 : slot_.at - 1;
      wait_barrier(&shared_.full[slot_.at], slot_.phase);
      const uint64_t a =
          matrix_in_shared(shared_address(shared_.a(slot_.at)) + (C::kTurns ? 0 : group() * C::kGroupRows * C::kLine));
      const uint64_t b = boxes_in_shared(shared_address(shared_.b(slot_.at)));
      pin(sums);
      fence_products();
#pragma unroll
      for (int k = 0; k < C::kDepth / 16; ++k)
#pragma unroll
        for (int part = 0; part < C::kParts; ++part)
          multiply_boxes_add<T>(sums[part], a + part * (64 * C::kLine / 16) + 2 * k, b + kSixteenRows * k);
      commit_products();
      if (C::kTurns && i == num_ - 1 && threadIdx.x % 128 == 0) arrive(&shared_.taken[group()]);
      if (i > 0) {
        wait_for_products<1>();
        release(before);
      }
      slot_.next();
    }
    wait_for_products<0>();
    pin(sums);
    release(slot_.at == 0 ? C::kStages - 1 : slot_.at - 1);
  }
  __device__ static void pin(Sums& sums) {
#pragma unroll
    for (Part& part : sums) pin_registers(part);
  }
  __device__ void release(int slot) const {
    __syncwarp();
    if (lane() == 0) arrive(&shared_.empty[slot]);
  }

  __device__ void norm(Part& sums, int row, int column) const {
    wait_barrier(&shared_.normed, 0);
    const int first = row % C::kRows + warp_row() + lane() / 4;
    const float2 rows[] = {shared_.rows[first], shared_.rows[first + 8]};
#pragma unroll
    for (int j = 0; j < C::kColumns / 8; ++j) {
      const float4 columns = reinterpret_cast<const float4*>(shared_.columns)[j * 4 + lane() % 4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float &x = sums[4 * j + 2 * i], &y = sums[4 * j + 2 * i + 1];
        x = fmaf(rows[i].y, fmaf(-rows[i].x, columns.x, x), columns.y);
        y = fmaf(rows[i].y, fmaf(-rows[i].x, columns.z, y), columns.w);
      }
    }
  }

  __device__ void finish(const Part& sums, int row, int column, const TurnedColumns* turned) const {
    using ops::Activation;
    if constexpr (C::kNormed)
      if (p_.activation == Activation::kNone) return finish_by(sums, row, column, turned, [](float x) { return x; });
    switch (p_.activation) {
      case Activation::kGelu: return finish_by(sums, row, column, turned, [](float x) { return gelu_approximate(x); });
      case Activation::kSilu:
        return finish_by(sums, row, column, turned, [](float x) { return x * sigmoid_approximate(x); });
      case Activation::kSigmoid:
        return finish_by(sums, row, column, turned, [](float x) { return sigmoid_approximate(x); });
      default: return finish_by(sums, row, column, turned, [](float x) { return tanhf(x); });
    }
  }
  // A warp by itself: box by box to shared memory, and from there to y; rows and columns beyond y are left out by the device.
  template <class Fn>
  __device__ __forceinline__ void finish_by(const Part& sums, int row, int column, const TurnedColumns* turned,
                                            Fn&& activate) const {
    constexpr int kUnits = C::kOutLine / 16;
    const uint32_t out = shared_address(shared_.out) + threadIdx.x / kWarp * (C::kHeld * C::kOutBoxBytes);
    row += warp_row();
#pragma unroll
    for (int j = 0; j < C::kColumns / 8; j += 2) {
      const int box = j / kUnits;
      const uint32_t stage = out + box % C::kHeld * C::kOutBoxBytes;
      if (j % kUnits == 0) await_stage(box);
      uint32_t packed[4];
#pragma unroll
      for (int i = 0; i < 4; ++i)
        packed[i] = narrow_pair<T>(activate(sums[j * 4 + i * 2]), activate(sums[j * 4 + i * 2 + 1]));
      const int line = lane() % 16, unit = (j + lane() / 16) % kUnits;
      store_matrices(stage + line * C::kOutLine + (unit ^ line / (8 / kUnits) % kUnits) * 16, packed);
      if ((j + 2) % kUnits == 0) {
        if (C::kMayTurn && turned != nullptr)
          store_turned(*turned, stage, row, p_.m, column + box * C::kOutColumns);
        else
          store_box(stage, row, column + box * C::kOutColumns);
      }
    }
  }
  // Until a box that stood there has left it: with the first ones of a tile all before it.
  __device__ static void await_stage(int box) {
    if (lane() == 0) {
      if (box == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
      if (box >= C::kHeld) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(C::kHeld - 1) : "memory");
    }
    __syncwarp();
  }
  __device__ void store_box(uint32_t stage, int row, int column) const {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (lane() != 0) return;
    if (row < p_.m && column < p_.n)
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&p_.y),
                   "r"(column), "r"(row), "r"(stage)
                   : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");  // one a box, also without a copy: they are counted
  }

  const TiledProduct& p_;
  typename C::Shared& shared_;
  const int num_;  // stages of a tile
  Slot<C> slot_;
};

// 16-bit elements by `wgmma`. Blocks stay and take one tile after the other; one warp has boxes of a and b copied ahead: those of b, where
// it and the bias are constant, before earlier kernels are done. Grid: blocks, as many as tiles at most. Threads: C::kThreads; shared memory:
// C::Shared.
template <class C>
__global__ void __launch_bounds__(C::kThreads, 1) product_wgmma_tiles(const __grid_constant__ TiledProduct p) {
#if __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) std::byte tiles_memory[];
  auto& shared = *reinterpret_cast<typename C::Shared*>(tiles_memory);
  const int num = (p.k + C::kDepth - 1) / C::kDepth;
  if (threadIdx.x == C::kConsumers) fetch_map(p.b), fetch_map(p.a), fetch_map(p.y);
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < C::kStages; ++slot) {
      init_barrier(&shared.full[slot], 1);
      init_barrier(&shared.empty[slot], C::kConsumers / kWarp / (C::kTurns ? 2 : 1));
    }
    for (uint64_t& taken : shared.taken) init_barrier(&taken, 1);
    init_barrier(&shared.normed, kWarp);
    fence_barrier_init();
  }
  __syncthreads();
  if (!p.constant_b) wait_for_earlier();
  if (threadIdx.x >= C::kConsumers) {
    if constexpr (C::kTurns) release_registers<40>();
    if (threadIdx.x == C::kConsumers) StageBringer<C>{p, shared}.run(num);
    if (C::kNormed && threadIdx.x / kWarp > C::kConsumers / kWarp) bring_norm<C>(p, shared);
  } else {
    if constexpr (C::kTurns) take_registers<232>();
    TileMaker<C>(p, shared, num).run();
  }
  wait_for_earlier();
#endif
}

}  // namespace plica::cuda
