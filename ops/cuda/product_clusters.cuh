// Long because the steps of the kernel, which share the shape of its tile, stand together.
#pragma once

#include "ops/cuda/activation.cuh"
#include "ops/cuda/approximate.cuh"
#include "ops/cuda/cluster_copy.cuh"
#include "ops/cuda/matrix_fragments.cuh"
#include "ops/cuda/product_block.cuh"
#include "ops/cuda/row_moments.cuh"
#include "ops/cuda/wgmma_columns.cuh"

namespace plica::cuda {

struct ClusterProduct {
  CUtensorMap a, b;      // (m, k), (k, n)
  BlockProduct product;  // rows: one axis at most
  int tile_rows = 0;     // of clusters
  // Of normed tiles, y = activation(norm(a) @ b + bias): norm(a) @ b = scale * (a @ b - mean * column_sums), mean and scale those of a row
  // of a.
  float eps = 0;
  const float* column_sums = nullptr;  // (n), of b; null where the norm has no mean
};

// A warpgroup makes a tile of 64 x 64. A cluster's blocks one above the other, kDown of them, share the copies of b; for each there are
// kAlong that share k. A ring of kStages holds kDepth of k of both operands each.
template <class T_, int kDown_, int kAlong_, int kStages_, int kChunks_, bool kNormed_ = false>
struct ClusterTile {
  using T = T_;
  static constexpr bool kNormed = kNormed_;
  static_assert(!kNormed || kAlong_ == 1, "a block sees its rows whole");
  static constexpr int kDown = kDown_, kAlong = kAlong_, kStages = kStages_, kChunks = kChunks_;  // chunks of a stage
  static constexpr int kRows = 64, kColumns = 64, kChunk = 64, kDepth = kChunks * kChunk, kRanks = kDown * kAlong;
  static constexpr int kConsumers = 128, kSummers = kNormed ? 256 : 0, kThreads = kConsumers + kWarp + kSummers;
  static constexpr int kLine = 128, kBoxBytes = 64 * kLine, kOperandBytes = kChunks * kBoxBytes;
  static constexpr int kShare = kColumns / 8 / kAlong;  // blocks of 8 columns that a block finishes
  static constexpr int kKeptBytes = kColumns / 8 * 512 / (kAlong > 1 ? 1 : 2);
  struct Shared {
    alignas(1024) std::byte a[kStages][kOperandBytes];
    alignas(1024) std::byte b[kStages][kOperandBytes];
    alignas(1024) std::byte kept[kConsumers / kWarp][kKeptBytes];  // of a warp: sums of all parts of k, then results
    uint64_t full[kStages], empty[kStages];
    uint64_t normed;                               // what follows is there
    alignas(16) float2 rows[kNormed ? kRows : 1];  // mean and scale
  };
  static constexpr int kSharedBytes = sizeof(Shared);
  static constexpr bool kLeavesRoom = kSharedBytes <= 113 * 1024;  // for another block on its multiprocessor
};

// What a block makes.
template <class C>
struct ClusterPlace {
  int rank = 0, down, along;
  int row, column, begin, num;  // begin, num: stages of k

  __device__ explicit ClusterPlace(const ClusterProduct& p) {
    if (C::kRanks > 1) rank = static_cast<int>(rank_in_cluster());
    down = rank % C::kDown, along = rank / C::kDown;
    const int tile = blockIdx.x / C::kRanks, stages = (p.product.k + C::kDepth - 1) / C::kDepth;
    row = (tile % p.tile_rows * C::kDown + down) * C::kRows;
    column = tile / p.tile_rows * C::kColumns;
    begin = stages * along / C::kAlong;
    num = stages * (along + 1) / C::kAlong - begin;
  }
};

// Of the thread that brings the stages.
template <class C>
struct ClusterBringer {
  const ClusterProduct& p;
  typename C::Shared& shared;
  const ClusterPlace<C>& at;

  // This block's share of the rows, for all blocks that share b.
  __device__ void bring_b(int i, int slot) const {
    constexpr int kShare = C::kChunk / C::kDown;
    arrive_expecting(&shared.full[slot], 2 * C::kOperandBytes);
#pragma unroll
    for (int chunk = 0; chunk < C::kChunks; ++chunk)
      copy_box_to_all<C::kDown>(shared.b[slot] + chunk * C::kBoxBytes + at.down * kShare * C::kLine, p.b, at.column,
                                (at.begin + i) * C::kDepth + chunk * C::kChunk + at.down * kShare, &shared.full[slot],
                                at.rank - at.down);
  }
  __device__ void bring_a(int i, int slot) const {
#pragma unroll
    for (int chunk = 0; chunk < C::kChunks; ++chunk)
      copy_box(shared.a[slot] + chunk * C::kBoxBytes, p.a, (at.begin + i) * C::kDepth + chunk * C::kChunk, at.row,
               &shared.full[slot]);
  }
  __device__ void run() const {
    const int ahead = min(at.num, C::kStages);
    for (int i = 0; i < ahead; ++i) bring_b(i, i);
    wait_for_earlier();
    for (int i = 0; i < ahead; ++i) bring_a(i, i);
    int slot = 0;
    uint32_t phase = 0;
    for (int i = ahead; i < at.num; ++i) {
      wait_barrier(&shared.empty[slot], phase);
      bring_b(i, slot);
      bring_a(i, slot);
      if (++slot == C::kStages) slot = 0, phase ^= 1;
    }
  }
};

// Of the warpgroup. In fragments of products a thread holds two columns in every 8 of two rows in every 16.
template <class C>
class ClusterMaker {
 public:
  using T = typename C::T;

  __device__ ClusterMaker(const ClusterProduct& p, typename C::Shared& shared, const ClusterPlace<C>& at)
      : p_(p.product),
        column_sums_(p.column_sums),
        shared_(shared),
        at_(at),
        row_(at.row + warp() * 16),
        column_(at.column + at.along * kWidth) {}

  __device__ void run() {
    float sums[C::kColumns / 2];
    begin(sums);
    wait_for_earlier();
    fetch_residual();
    multiply(sums);
    if (!C::kLeavesRoom) let_next_begin();
    if constexpr (C::kNormed) norm(sums);
    if constexpr (C::kAlong == 1) {
      finish(sums);
    } else {
      float own[4 * C::kShare];
      exchange(sums, own);
      finish(own);
    }
  }

 private:
  static constexpr int kWidth = 8 * C::kShare;  // columns that this block finishes
  using Own = float[4 * C::kShare];

  __device__ static int warp() { return threadIdx.x / kWarp; }
  __device__ static int lane() { return threadIdx.x % kWarp; }

  // Those of the first part of k begin with the bias, where they are not scaled.
  __device__ void begin(float (&sums)[C::kColumns / 2]) {
#pragma unroll
    for (int j = 0; j < C::kColumns / 8; ++j) {
      const int column = at_.column + j * 8 + lane() % 4 * 2;
      float2 bias{};
      if (p_.bias != nullptr && at_.along == 0 && column < p_.n)
        bias = widen_pair<T>(__ldg(reinterpret_cast<const uint32_t*>(static_cast<const T*>(p_.bias) + column)));
      if constexpr (C::kNormed) {
        float2 sum{};
        if (column_sums_ != nullptr && column < p_.n)
          sum = __ldg(reinterpret_cast<const float2*>(column_sums_ + column));
        columns_[j] = {sum.x, sum.y, bias.x, bias.y};
        bias = {};
      }
      sums[4 * j] = sums[4 * j + 2] = bias.x;
      sums[4 * j + 1] = sums[4 * j + 3] = bias.y;
    }
  }
  // It is on its way while the block multiplies.
  __device__ void fetch_residual() {
#pragma unroll
    for (int i = 0; i < 2 * C::kShare; ++i) {
      const int row = row_ + lane() / 4 + i % 2 * 8, column = column_ + i / 2 * 8 + lane() % 4 * 2;
      residual_[i] = 0;
      if (p_.residual != nullptr && row < p_.m && column < p_.n)
        residual_[i] = *reinterpret_cast<const uint32_t*>(static_cast<const T*>(p_.residual) +
                                                          row * p_.rows.stride[2][0] + column);
    }
  }

  __device__ void multiply(float (&sums)[C::kColumns / 2]) const {
    int slot = 0, before = 0;
    uint32_t phase = 0;
#pragma unroll 1
    for (int i = 0; i < at_.num; ++i) {
      wait_barrier(&shared_.full[slot], phase);
      const uint64_t a = matrix_in_shared(shared_address(shared_.a[slot]));
      const uint64_t b = rows_in_shared(shared_address(shared_.b[slot]));
      pin_registers(sums);
      fence_products();
#pragma unroll
      for (int k = 0; k < C::kDepth / 16; ++k)
        multiply_rows_add<T>(sums, a + k / 4 * (C::kBoxBytes / 16) + k % 4 * 2, b + k * kSixteenRows, true);
      commit_products();
      if (i > 0) {
        wait_for_products<1>();
        release(before);
      }
      before = slot;
      if (++slot == C::kStages) slot = 0, phase ^= 1;
    }
    wait_for_products<0>();
    pin_registers(sums);
  }
  // To all blocks that bring this one's share of a slot.
  __device__ void release(int slot) const {
    __syncwarp();
    if constexpr (C::kDown == 1) {
      if (lane() == 0) arrive(&shared_.empty[slot]);
    } else if (lane() < C::kDown) {
      arrive_in_cluster(&shared_.empty[slot], at_.rank - at_.down + lane());
    }
  }

  __device__ void norm(float (&sums)[C::kColumns / 2]) const {
    wait_barrier(&shared_.normed, 0);
    const int first = warp() * 16 + lane() / 4;
    const float2 rows[] = {shared_.rows[first], shared_.rows[first + 8]};
#pragma unroll
    for (int j = 0; j < C::kColumns / 8; ++j) {
      const float4& columns = columns_[j];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float &x = sums[4 * j + 2 * i], &y = sums[4 * j + 2 * i + 1];
        x = fmaf(rows[i].y, fmaf(-rows[i].x, columns.x, x), columns.z);
        y = fmaf(rows[i].y, fmaf(-rows[i].x, columns.y, y), columns.w);
      }
    }
  }

  // Each block of those that share k gets all parts of the sums of its columns, and adds them up in one order.
  __device__ void exchange(const float (&sums)[C::kColumns / 2], Own& own) const {
    constexpr int kPartBytes = C::kShare * 512;
    const uint32_t kept = shared_address(shared_.kept[warp()]) + lane() * 16;
#pragma unroll
    for (int j = 0; j < C::kColumns / 8; ++j)
      write_cluster(kept + at_.along * kPartBytes + j % C::kShare * 512, at_.down + j / C::kShare * C::kDown,
                    {sums[4 * j], sums[4 * j + 1], sums[4 * j + 2], sums[4 * j + 3]});
    sync_cluster();
#pragma unroll
    for (int j = 0; j < C::kShare; ++j) {
      float4 sum{};
#pragma unroll
      for (int from = 0; from < C::kAlong; ++from) {
        const float4 part = shared_at<float4>(kept + from * kPartBytes + j * 512);
        sum.x += part.x, sum.y += part.y, sum.z += part.z, sum.w += part.w;
      }
      own[4 * j] = sum.x, own[4 * j + 1] = sum.y, own[4 * j + 2] = sum.z, own[4 * j + 3] = sum.w;
    }
    __syncwarp();  // results take their place
  }

  __device__ static void activate_by(ops::Activation activation, Own& value) {
    using ops::Activation;
    switch (activation) {
      case Activation::kGelu: return each(value, [](float x) { return gelu_approximate(x); });
      case Activation::kSilu: return each(value, [](float x) { return x * sigmoid_approximate(x); });
      case Activation::kSigmoid: return each(value, [](float x) { return sigmoid_approximate(x); });
      case Activation::kTanh: return each(value, [](float x) { return tanhf(x); });
      default: return;
    }
  }
  // A warp by itself: its 16 rows by way of shared memory, so that its lanes write whole vectors.
  __device__ void finish(Own& value) const {
    activate_by(p_.activation, value);
    const uint32_t kept = shared_address(shared_.kept[warp()]);
    const auto place = [&](int line, int unit) {
      return kept + line * (16 * C::kShare) + (unit ^ line / (8 / C::kShare) % C::kShare) * 16;
    };
#pragma unroll
    for (int j = 0; j < C::kShare; j += 2) {
      uint32_t packed[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 residual = widen_pair<T>(residual_[2 * j + i]);
        packed[i] = narrow_pair<T>(value[4 * j + 2 * i] + residual.x, value[4 * j + 2 * i + 1] + residual.y);
      }
      store_matrices(place(lane() % 16, j + lane() / 16), packed);
    }
    __syncwarp();
#pragma unroll
    for (int i = lane(); i < 16 * C::kShare; i += kWarp) {
      const int line = i / C::kShare, unit = i % C::kShare, row = row_ + line, column = column_ + unit * 8;
      if (row < p_.m && column < p_.n)
        *reinterpret_cast<uint4*>(static_cast<T*>(p_.y) + row * p_.rows.stride[1][0] + column) =
            shared_at<uint4>(place(line, unit));
    }
  }

  const BlockProduct& p_;
  const float* const column_sums_;
  typename C::Shared& shared_;
  const ClusterPlace<C>& at_;
  const int row_, column_;  // row_: of the warp; column_: the first that this block finishes
  uint32_t residual_[2 * C::kShare];
  float4 columns_[C::kNormed ? C::kColumns / 8 : 1];  // sums and bias of two
};

// Of the warps behind the one that brings stages: mean and scale of the block's rows, from what is brought for the products.
template <class C>
class ClusterSummer {
 public:
  using T = typename C::T;

  __device__ ClusterSummer(const ClusterProduct& p, typename C::Shared& shared, const ClusterPlace<C>& at)
      : p_(p), shared_(shared), at_(at) {}

  __device__ void run() {
    const int row = index() / kSharers;
    MomentSums<T> sums;
    int slot = 0;
    uint32_t phase = 0;
#pragma unroll 1
    for (int i = 0; i < at_.num; ++i) {
      wait_barrier(&shared_.full[slot], phase);
      const uint32_t line = shared_address(shared_.a[slot]) + row * C::kLine;
      if (i == 0 && has_mean()) sums.first = widen_pair<T>(shared_at<uint32_t>(line + row % 8 * 16)).x;
      const int left = p_.product.k - i * C::kDepth;
      if (left >= C::kDepth)
        add_all(line, row, sums);
      else
        add_some(line, row, left, sums);
      __syncwarp();
      if (index() % kWarp == 0) arrive(&shared_.empty[slot]);
      if (++slot == C::kStages) slot = 0, phase ^= 1;
    }
    const float2 moments = sums.template finish<kSharers>(p_.product.k, p_.eps, has_mean());
    if (index() % kSharers == 0) shared_.rows[row] = moments;
    arrive(&shared_.normed);
  }

 private:
  __device__ static int index() { return threadIdx.x - C::kConsumers - kWarp; }
  __device__ bool has_mean() const { return p_.column_sums != nullptr; }

  static constexpr int kSharers = C::kNormed ? C::kSummers / C::kRows : 1;  // threads of a row
  static constexpr int kUnits = C::kLine / 16 / kSharers;                   // that each has of a line

  __device__ static int first_unit() { return index() % kSharers * kUnits; }
  __device__ static const uint4& unit_at(uint32_t line, int row, int chunk, int unit) {
    return shared_at<uint4>(line + chunk * C::kBoxBytes + (unit ^ row % 8) * 16);
  }
  // A thread's share of a row in a stage; all loads are on their way before the first sum.
  __device__ static void add_all(uint32_t line, int row, MomentSums<T>& sums) {
    uint4 words[C::kChunks][kUnits];
#pragma unroll
    for (int chunk = 0; chunk < C::kChunks; ++chunk)
#pragma unroll
      for (int j = 0; j < kUnits; ++j) words[chunk][j] = unit_at(line, row, chunk, first_unit() + j);
#pragma unroll
    for (int chunk = 0; chunk < C::kChunks; ++chunk)
#pragma unroll
      for (int j = 0; j < kUnits; ++j) sums.add(words[chunk][j]);
  }
  // Of the last stage, in which `left` elements of a row are there.
  __device__ static void add_some(uint32_t line, int row, int left, MomentSums<T>& sums) {
#pragma unroll 1
    for (int chunk = 0; chunk < C::kChunks; ++chunk)
#pragma unroll 1
      for (int unit = first_unit(); unit < first_unit() + kUnits; ++unit)
        if (chunk * C::kChunk + unit * 8 < left) sums.add(unit_at(line, row, chunk, unit));
  }

  const ClusterProduct& p_;
  typename C::Shared& shared_;
  const ClusterPlace<C>& at_;
};

// 16-bit elements by `wgmma`, one tile a block. One thread has boxes of a and b copied ahead: those of b, where it and the bias are
// constant, before earlier kernels are done. Where there is room for the next kernel's blocks beside these, it begins at once, and brings
// its own weights. Grid: clusters of kRanks blocks. Threads: C::kThreads; shared memory: C::Shared.
template <class C>
__global__ void __launch_bounds__(C::kThreads, 1) product_clusters(const __grid_constant__ ClusterProduct p) {
#if __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) std::byte clusters_memory[];
  auto& shared = *reinterpret_cast<typename C::Shared*>(clusters_memory);
  if (C::kLeavesRoom) let_next_begin();
  const ClusterPlace<C> at(p);
  if (threadIdx.x == C::kConsumers) {
    fetch_map(p.b), fetch_map(p.a);
    for (int slot = 0; slot < C::kStages; ++slot) {
      init_barrier(&shared.full[slot], 1);
      init_barrier(&shared.empty[slot], (C::kDown * C::kConsumers + C::kSummers) / kWarp);
    }
    init_barrier(&shared.normed, C::kSummers);
    fence_barrier_init();
  }
  __syncthreads();
  if constexpr (C::kRanks > 1) leave_cluster();  // all barriers are there
  if (!p.product.constant_b) wait_for_earlier();
  if (threadIdx.x < C::kConsumers) {
    ClusterMaker<C>(p, shared, at).run();
  } else if (threadIdx.x >= C::kConsumers + kWarp) {
    if constexpr (C::kNormed) ClusterSummer<C>(p, shared, at).run();
  } else {
    if (threadIdx.x == C::kConsumers) ClusterBringer<C>{p, shared, at}.run();
    __syncwarp();
    if constexpr (C::kAlong > 1) sync_cluster();
  }
  wait_for_earlier();
  if constexpr (C::kRanks > 1) leave_cluster();  // none arrives here any more
#endif
}

}  // namespace plica::cuda
