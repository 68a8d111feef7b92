// Long because the steps of the kernel, which share the shape of its tile, stand together.
#pragma once

#include "ops/cuda/product_block.cuh"
#include "ops/cuda/tensor_tile.cuh"
#include "ops/cuda/wgmma_columns.cuh"

namespace plica::cuda {

struct WgmmaProduct {
  CUtensorMap a_map, b_map;  // (m, k), (k, n)
  BlockProduct product;      // rows: one axis at most
};

// kGroups warpgroups of 64 rows each take a tile of 64 columns; a ring of kStages holds kDepth of k of both operands each.
template <class T_, int kGroups_, int kStages_>
struct WgmmaTile {
  using T = T_;
  static constexpr int kGroups = kGroups_, kStages = kStages_, kRows = 64 * kGroups, kColumns = 64, kDepth = 64;
  static constexpr int kConsumers = 128 * kGroups, kThreads = kConsumers + kWarp;
  static constexpr int kABytes = kRows * kDepth * 2, kBBytes = kDepth * kColumns * 2, kStageBytes = kABytes + kBBytes;
  static constexpr int kVectors = kColumns / 4, kRowStep = kConsumers / kVectors;  // of what a thread writes
  static constexpr int kPitch = kColumns + 8;                                      // of sums, in floats
  static_assert(kRows * kPitch * 4 <= kStages * kStageBytes);
  struct Shared {
    alignas(1024) std::byte ring[kStages * kStageBytes];  // the sums take its place
    uint64_t full[kStages], empty[kStages];

    __device__ std::byte* a(int slot) { return ring + slot * kStageBytes; }
    __device__ std::byte* b(int slot) { return ring + slot * kStageBytes + kABytes; }
    __device__ float* sums() { return reinterpret_cast<float*>(ring); }
  };
  static constexpr int kSharedBytes = sizeof(Shared);
};

// Of the thread that brings the tiles.
template <class C>
struct WgmmaBringer {
  const WgmmaProduct& p;
  typename C::Shared& shared;
  int row, column, begin;  // begin: of k

  __device__ void bring_b(int i, int slot) const {
    arrive_expecting(&shared.full[slot], C::kStageBytes);
    copy_box(shared.b(slot), p.b_map, column, begin + i * C::kDepth, &shared.full[slot]);
  }
  __device__ void bring_a(int i, int slot) const {
    copy_box(shared.a(slot), p.a_map, begin + i * C::kDepth, row, &shared.full[slot]);
  }
  __device__ void run(int num) const {
    const int ahead = min(num, C::kStages);
    for (int i = 0; i < ahead; ++i) bring_b(i, i);
    wait_for_earlier();
    for (int i = 0; i < ahead; ++i) bring_a(i, i);
    for (int i = ahead; i < num; ++i) {
      const int slot = i % C::kStages;
      wait_barrier(&shared.empty[slot], i / C::kStages % 2 ^ 1);
      bring_b(i, slot);
      bring_a(i, slot);
    }
  }
};

// Sums of products of a warpgroup's rows over `num` stages.
template <class C>
__device__ void multiply_stages(int num, typename C::Shared& shared, float (&sums)[C::kColumns / 2]) {
  const int group = threadIdx.x / 128;
#pragma unroll 1
  for (int i = 0; i < num; ++i) {
    const int slot = i % C::kStages;
    wait_barrier(&shared.full[slot], i / C::kStages % 2);
    const uint64_t a = matrix_in_shared(shared_address(shared.a(slot) + group * 64 * 128));
    const uint64_t b = rows_in_shared(shared_address(shared.b(slot)));
    pin_registers(sums);
    fence_products();
#pragma unroll
    for (int k = 0; k < C::kDepth / 16; ++k)
      multiply_rows_add<typename C::T>(sums, a + 2 * k, b + kSixteenRows * k, i > 0 || k > 0);
    commit_products();
    if (i == 0) continue;
    wait_for_products<1>();
    __syncwarp();
    if (threadIdx.x % kWarp == 0) arrive(&shared.empty[(i - 1) % C::kStages]);
  }
  wait_for_products<0>();
  pin_registers(sums);
}

template <class C>
__device__ void keep_sums(const float (&sums)[C::kColumns / 2], float* to) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  to += (warp * 16 + lane / 4) * C::kPitch + lane % 4 * 2;
#pragma unroll
  for (int j = 0; j < C::kColumns / 8; ++j) {
    *reinterpret_cast<float2*>(to + j * 8) = {sums[4 * j], sums[4 * j + 1]};
    *reinterpret_cast<float2*>(to + 8 * C::kPitch + j * 8) = {sums[4 * j + 2], sums[4 * j + 3]};
  }
}

// What a thread makes of a tile: the same four columns of every kRowStep-th row, these shared out among the blocks of a cluster.
template <class C>
class WgmmaFinisher {
 public:
  using T = typename C::T;
  using Vector = RawPack<T, 4>;

  __device__ WgmmaFinisher(const BlockProduct& p, int row, int column)
      : p_(p),
        in_tile_(threadIdx.x % C::kVectors * 4),
        column_(column + in_tile_),
        row_(row),
        rows_(column_ < p.n ? min(C::kRows, p.m - row) : 0) {
    if (p.bias != nullptr && rows_ > 0)
      bias_ = *reinterpret_cast<const Vector*>(static_cast<const T*>(p.bias) + column_);
  }

  // The first of the residual's vectors: it is on its way while the block multiplies.
  __device__ void fetch() { residual_ = residual_at(first()); }

  // `sums` is complete in all blocks of the cluster. A loop of little code: what a kernel of this size runs once is not in the caches.
  __device__ void run(const float* sums) {
    const int ranks = gridDim.x, step = ranks * C::kRowStep;
#pragma unroll 2
    for (int r = first(); r < rows_; r += step) {
      const Vector residual = residual_;
      residual_ = residual_at(r + step);
      const float4 sum = add_up(sums + r * C::kPitch + in_tile_, ranks);
      float value[4] = {sum.x * p_.alpha, sum.y * p_.alpha, sum.z * p_.alpha, sum.w * p_.alpha};
      take_apart<T, 4>(bias_, [&](int j, float x) { value[j] += x; });
      activate<T>(p_.activation, value);
      take_apart<T, 4>(residual, [&](int j, float x) { value[j] += x; });
      *reinterpret_cast<Pack<T, 4>*>(static_cast<T*>(p_.y) + (row_ + r) * p_.rows.stride[1][0] + column_) =
          put_together<T, 4>(value);
    }
  }

 private:
  __device__ static int first() {
    return static_cast<int>(threadIdx.x) / C::kVectors + static_cast<int>(blockIdx.x) * C::kRowStep;
  }
  __device__ Vector residual_at(int r) const {
    if (p_.residual == nullptr || r >= rows_) return {};
    return *reinterpret_cast<const Vector*>(static_cast<const T*>(p_.residual) + (row_ + r) * p_.rows.stride[2][0] +
                                            column_);
  }
  __device__ static float4 add_up(const float* own, int ranks) {
    if (ranks == 1) return *reinterpret_cast<const float4*>(own);
    float4 part[kMostRanks], sum{};
#pragma unroll
    for (int i = 0; i < kMostRanks; ++i)
      if (i < ranks) part[i] = read_cluster(shared_address(own), static_cast<uint32_t>(i));
#pragma unroll
    for (int i = 0; i < kMostRanks; ++i)
      if (i < ranks) sum.x += part[i].x, sum.y += part[i].y, sum.z += part[i].z, sum.w += part[i].w;
    return sum;
  }

  const BlockProduct& p_;
  int in_tile_, column_, row_, rows_;  // rows_: of the tile that are in y
  Vector bias_{}, residual_{};
};

// By all warps: a barrier takes its time.
template <class C>
__device__ void init_barriers(typename C::Shared& shared) {
  if (threadIdx.x % kWarp == 0) {
#pragma unroll
    for (int slot = threadIdx.x / kWarp; slot < C::kStages; slot += C::kThreads / kWarp) {
      init_barrier(&shared.full[slot], 1);
      init_barrier(&shared.empty[slot], C::kConsumers / kWarp);
    }
    fence_barrier_init();
  }
  __syncthreads();
}

// 16-bit elements by `wgmma`; the blocks of a cluster share k. One warp brings the tiles: those of b, where it and the bias are constant,
// before earlier kernels are done. Grid: ranks in the cluster, tiles of columns, tiles of rows. Threads: C::kThreads; shared memory:
// C::Shared. Rows of an operand are one step apart.
template <class C>
__global__ void __launch_bounds__(C::kThreads, 1) product_wgmma(const __grid_constant__ WgmmaProduct p) {
#if __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) std::byte wgmma_memory[];
  auto& shared = *reinterpret_cast<typename C::Shared*>(wgmma_memory);
  const auto [begin, num] = stretch_of(p.product);
  const int row = blockIdx.z * C::kRows, column = blockIdx.y * C::kColumns;
  if (threadIdx.x == C::kConsumers) fetch_map(p.b_map), fetch_map(p.a_map);
  init_barriers<C>(shared);
  if (!p.product.constant_b) wait_for_earlier();
  if (threadIdx.x >= C::kConsumers) {
    if (threadIdx.x == C::kConsumers) WgmmaBringer<C>{p, shared, row, column, begin * C::kDepth}.run(num);
    __syncwarp();
    if (gridDim.x > 1) {
      sync_cluster();
      leave_cluster();
    }
    return;
  }
  WgmmaFinisher<C> finisher(p.product, row, column);
  wait_for_earlier();
  finisher.fetch();
  float sums[C::kColumns / 2];
  multiply_stages<C>(num, shared, sums);
  let_next_begin();
  const auto sync = [] { asm volatile("bar.sync 1, %0;" ::"n"(C::kConsumers) : "memory"); };
  sync();  // the ring has been read
  keep_sums<C>(sums, shared.sums());
  if (gridDim.x > 1)
    sync_cluster();
  else
    sync();
  finisher.run(shared.sums());
  if (gridDim.x > 1) leave_cluster();
#endif
}

}  // namespace plica::cuda
