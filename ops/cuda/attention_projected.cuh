// Long because the steps of the kernel, which share the shape of its tile, stand together.
#pragma once

#include "ops/cuda/attention_turned.cuh"
#include "ops/cuda/tensor_strip.cuh"
#include "ops/cuda/wgmma_strips.cuh"

namespace plica::cuda::attention {

// Where heads start in rows of a product's result: the first one's columns, and those from one to the next.
struct HeadColumns {
  int first = 0, step = 0;
};

// Attention of queries, keys and values that are x @ w + bias and stand nowhere; `attention` says all but where they are.
struct ProjectedAttention {
  CUtensorMap x, w;            // (batch * rows, k), (k, columns)
  const void* bias = nullptr;  // (columns)
  int k = 0;
  HeadColumns columns[3];  // of queries, keys and values
  TurnedAttention attention;
};

// A block has 32 queries of a head 16 wide: it makes queries, keys and values of all rows, each warp those of 16.
template <class T_>
struct ProjectedTile {
  using T = T_;
  using Turned = TurnedTile<T, 16>;
  static constexpr int kRows = Turned::kKeys, kWidth = Turned::kWidth, kDepth = 64, kMostStages = 5;
  static constexpr int kThreads = Turned::kThreads, kParts = 3, kColumns = kParts * kWidth;
  static constexpr int kXBytes = kRows * kDepth * 2, kStripBytes = kDepth * kWidth * 2, kWBytes = kParts * kStripBytes;
  struct Shared {
    alignas(1024) std::byte x[kMostStages * kXBytes];
    alignas(1024) std::byte w[kMostStages * kWBytes];
    typename Turned::Tiles tiles;
    typename Turned::Results results;
    uint64_t full[kMostStages];
  };
  static constexpr int kSharedBytes = sizeof(Shared);
};

// By one thread: columns of w that this block needs.
template <class C>
__device__ void bring_w(const ProjectedAttention& p, typename C::Shared& shared, int num) {
  for (int i = 0; i < num; ++i) {
    arrive_expecting(&shared.full[i], C::kXBytes + C::kWBytes);
    for (int part = 0; part < C::kParts; ++part)
      copy_box(shared.w + i * C::kWBytes + part * C::kStripBytes, p.w,
               p.columns[part].first + static_cast<int>(blockIdx.y) * p.columns[part].step, i * C::kDepth,
               &shared.full[i]);
  }
}
template <class C>
__device__ void bring_x(const ProjectedAttention& p, typename C::Shared& shared, int num) {
  for (int i = 0; i < num; ++i)
    copy_box(shared.x + i * C::kXBytes, p.x, i * C::kDepth, static_cast<int>(blockIdx.z) * p.attention.rows,
             &shared.full[i]);
}

// A thread's parts of two rows, eight apart: two neighbouring columns in every eight.
template <class C>
class RowsInMaking {
 public:
  using T = typename C::T;

  __device__ RowsInMaking() : first_(threadIdx.x / kWarp * 16 + lane() / 4) {}

  // Of operand 0, the queries, or 1, the keys.
  template <int kOperand>
  __device__ void read_angles(const TurnedHeads& cosine, const TurnedHeads& sine, int rows) {
    turns_[kOperand] = cosine.data != nullptr;
    if (!turns_[kOperand]) return;
    read_pairs(cosine, rows, cosine_[kOperand]);
    read_pairs(sine, rows, sine_[kOperand]);
  }

  // Sums begin with the bias.
  __device__ void begin(const ProjectedAttention& p) {
#pragma unroll
    for (int part = 0; part < C::kParts; ++part)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int column =
            p.columns[part].first + static_cast<int>(blockIdx.y) * p.columns[part].step + half * 8 + lane() % 4 * 2;
        float2 bias{};
        if (p.bias != nullptr)
          bias = cuda::widen_pair<T>(__ldg(reinterpret_cast<const uint32_t*>(static_cast<const T*>(p.bias) + column)));
        float* const sums = sums_ + (2 * part + half) * 4;
        sums[0] = sums[2] = bias.x;
        sums[1] = sums[3] = bias.y;
      }
  }

  __device__ void multiply(typename C::Shared& shared, int num) {
    const int group = threadIdx.x / 128;
    const uint64_t x = matrix_in_shared(shared_address(shared.x) + group * (C::kXBytes / 2)),
                   w = strips_in_shared(shared_address(shared.w));
#pragma unroll 1
    for (int i = 0; i < num; ++i) {
      wait_barrier(&shared.full[i], 0);
      pin_registers(sums_);
      fence_products();
#pragma unroll
      for (int k = 0; k < C::kDepth / 16; ++k)
        multiply_strips_add<T>(sums_, x + i * (C::kXBytes / 16) + 2 * k,
                               w + i * (C::kWBytes / 16) + kSixteenStripRows * k);
      commit_products();
    }
    wait_for_products<0>();
    pin_registers(sums_);
  }

  // To the block's tiles, turned; zeros beyond `rows`.
  __device__ void write(typename C::Turned::Tiles& tiles, int first_query, int rows) const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = first_ + 8 * h, query = row - first_query;
      uint32_t y[2 * C::kParts];
#pragma unroll
      for (int j = 0; j < 2 * C::kParts; ++j)
        y[j] = row < rows ? narrow_pair<T>(sums_[4 * j + 2 * h], sums_[4 * j + 2 * h + 1]) : 0;
      turn_pair<0>(y[0], y[1], h);
      turn_pair<1>(y[2], y[3], h);
      if (query >= 0 && query < C::Turned::kQueries) write_pair(tiles.q, query, y[0], y[1]);
      write_pair(tiles.k, row, y[2], y[3]);
      write_pair(tiles.v, row, y[4], y[5]);
    }
  }

 private:
  __device__ static int lane() { return threadIdx.x % kWarp; }

  __device__ void read_pairs(const TurnedHeads& of, int rows, uint32_t (&to)[2][2]) const {
    const T* from = rows_of<T>(of, blockIdx.z, blockIdx.y, first_) + lane() % 4 * 2;
#pragma unroll
    for (int h = 0; h < 2; ++h, from += 8 * of.step[2])
#pragma unroll
      for (int half = 0; half < 2; ++half)
        if (first_ + 8 * h < rows) to[h][half] = *reinterpret_cast<const uint32_t*>(from + half * 8);
  }
  template <int kOperand>
  __device__ void turn_pair(uint32_t& low, uint32_t& high, int h) const {
    if (!turns_[kOperand]) return;
    const uint32_t(&c)[2] = cosine_[kOperand][h], (&s)[2] = sine_[kOperand][h], x = low;
    low = turn<T>(x, high, c[0], s[0], -1.0f);
    high = turn<T>(high, x, c[1], s[1], 1.0f);
  }
  __device__ static void write_pair(T* tile, int row, uint32_t low, uint32_t high) {
    auto* to = reinterpret_cast<uint32_t*>(tile + row * C::Turned::kStride + lane() % 4 * 2);
    to[0] = low;
    to[4] = high;
  }

  int first_;
  bool turns_[2] = {};
  uint32_t cosine_[2][2][2] = {}, sine_[2][2][2] = {};  // by operand, row and half
  float sums_[C::kColumns / 2];
};

// Products by `wgmma`, then attention as `turned` has it. Grid: query tiles, heads, batches. Threads: C::kThreads; shared memory:
// C::Shared. At most C::kRows rows, and C::kMostStages stages of k.
template <class C>
__global__ void __launch_bounds__(C::kThreads, 1)
    projected_attention_kernel(const __grid_constant__ ProjectedAttention p) {
#if __CUDA_ARCH_FEAT_SM90_ALL
  using Turned = typename C::Turned;
  extern __shared__ __align__(1024) std::byte projected_memory[];
  auto& shared = *reinterpret_cast<typename C::Shared*>(projected_memory);
  const TurnedAttention& a = p.attention;
  const int first_query = blockIdx.x * Turned::kQueries, head = blockIdx.y, batch = blockIdx.z;
  const int num = (p.k + C::kDepth - 1) / C::kDepth;
  if (threadIdx.x == 0) {
    fetch_map(p.w), fetch_map(p.x);
    for (int i = 0; i < num; ++i) init_barrier(&shared.full[i], 1);
    fence_barrier_init();
    bring_w<C>(p, shared, num);
  }
  __syncthreads();
  if (!a.constant_angles) wait_for_earlier();
  RowsInMaking<C> made;
  made.template read_angles<0>(a.q_cos, a.q_sin, a.rows);
  made.template read_angles<1>(a.k_cos, a.k_sin, a.rows);
  made.begin(p);
  wait_for_earlier();
  if (threadIdx.x == 0) bring_x<C>(p, shared, num);
  __syncwarp();
  TermsUnderWay<Turned> terms;
  terms.read(a, batch, head, first_query);
  made.multiply(shared, num);
  made.write(shared.tiles, first_query, a.rows);
  __syncthreads();
  let_next_begin();
  Weighed<Turned> w;
  if (terms.first < a.keys) {
    float s[4][4] = {};
    score_keys<Turned>(shared.tiles, s);
    terms.apply(a, s);
    weigh(w, s);
    add_values(shared.tiles, s, w);
  }
  keep_results<Turned>(shared.results, w);
  __syncthreads();
  const bool undefined = write_results<Turned>(a, shared.results, batch, head, first_query);
  if (a.zero_rows == ops::ZeroRows::kUndefined && __syncthreads_or(undefined))
    spoil_zeros<Turned>(a, {shared.tiles.v, Turned::kStride, 1, C::kWidth}, batch, head, first_query);
#endif
}

}  // namespace plica::cuda::attention
