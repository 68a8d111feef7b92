// Long because the steps of the kernel, which share the shape of its tile, stand together.
#pragma once

#include "ops/cuda/attention_lacking.cuh"
#include "ops/cuda/attention_mma_modes.cuh"
#include "ops/cuda/attention_terms.cuh"
#include "ops/cuda/attention_turned.h"
#include "ops/cuda/early_launch.cuh"
#include "ops/cuda/matrix_fragments.cuh"
#include "ops/cuda/raw_pack.cuh"

namespace plica::cuda::attention {

// A block takes 32 queries of a head and all its keys; each of its warps 16 queries and one share of four of the keys.
template <class T_, int kWidth_>
struct TurnedTile {
  using T = T_;
  static constexpr int kWidth = kWidth_, kQueries = 32, kKeys = 128, kShares = 4, kShare = kKeys / kShares;
  static constexpr int kThreads = 256, kWarps = kThreads / kWarp;
  static constexpr int kStride = kWidth + 8, kHalves = kWidth / 16, kResultStride = kWidth + 4;
  struct Tiles {
    T k[kKeys * kStride], v[kKeys * kStride], q[kQueries * kStride];
  };
  struct Results {  // by warp and row; they take the place of the tiles
    float sum[kWarps][16][kResultStride], largest[kWarps][16], weight[kWarps][16];
  };
  static constexpr int kSharedBytes = std::max(sizeof(Tiles), sizeof(Results));
};

// A thread's part of a row: eight elements and those half a row behind them.
struct RowHalves {
  uint4 first, second;
};

// Of one head, from a row on.
template <class T>
__device__ __forceinline__ const T* rows_of(const TurnedHeads& x, int batch, int head, int row) {
  return static_cast<const T*>(x.data) + batch * x.step[0] + head * x.step[1] + row * x.step[2];
}

template <class T>
__device__ __forceinline__ uint32_t turn(uint32_t x, uint32_t other, uint32_t cosine, uint32_t sine, float sign) {
  const float2 a = cuda::widen_pair<T>(x), b = cuda::widen_pair<T>(other), c = cuda::widen_pair<T>(cosine),
               s = cuda::widen_pair<T>(sine);
  return narrow_pair<T>(a.x * c.x + sign * b.x * s.x, a.y * c.y + sign * b.y * s.y);
}
template <class T>
__device__ __forceinline__ uint4 turn(const uint4& x, const uint4& other, const uint4& c, const uint4& s, float sign) {
  return {turn<T>(x.x, other.x, c.x, s.x, sign), turn<T>(x.y, other.y, c.y, s.y, sign),
          turn<T>(x.z, other.z, c.z, s.z, sign), turn<T>(x.w, other.w, c.w, s.w, sign)};
}

// kRows rows of a head on their way to shared memory, turned where there are angles; zeros beyond `rows`.
template <class C, int kRows, bool kTurns>
class RowsUnderWay {
 public:
  using T = typename C::T;

  __device__ __forceinline__ void read_angles(const TurnedHeads& cosine, const TurnedHeads& sine, int batch, int head,
                                              int first, int rows) {
    turns_ = cosine.data != nullptr;
    if (!turns_) return;
    read_halves(cosine, batch, head, first, rows, cosine_);
    read_halves(sine, batch, head, first, rows, sine_);
  }
  __device__ __forceinline__ void read(const TurnedHeads& x, int batch, int head, int first, int rows) {
    read_halves(x, batch, head, first, rows, x_);
  }
  __device__ __forceinline__ void write(T* to) const {
    each([&](int i, int row, int element) {
      RowHalves y = x_[i];
      if (kTurns && turns_) {
        const RowHalves &c = cosine_[i % kAngles], &s = sine_[i % kAngles];
        y = {turn<T>(x_[i].first, x_[i].second, c.first, s.first, -1.0f),
             turn<T>(x_[i].second, x_[i].first, c.second, s.second, 1.0f)};
      }
      *reinterpret_cast<uint4*>(to + row * C::kStride + element) = y.first;
      *reinterpret_cast<uint4*>(to + row * C::kStride + element + C::kWidth / 2) = y.second;
    });
  }

 private:
  static constexpr int kNum = (kRows * C::kHalves + C::kThreads - 1) / C::kThreads, kAngles = kTurns ? kNum : 1;
  static constexpr int kRowsAtOnce = C::kThreads / C::kHalves;

  // Addresses go from part to part by one addition.
  template <int kCount>
  __device__ __forceinline__ static void read_halves(const TurnedHeads& x, int batch, int head, int first, int rows,
                                                     RowHalves (&to)[kCount]) {
    const int row = static_cast<int>(threadIdx.x) / C::kHalves;
    const T* from = rows_of<T>(x, batch, head, first + row) + threadIdx.x % C::kHalves * 8;
    each([&](int i, int, int) {
      if (first + row + i * kRowsAtOnce < rows)
        to[i] = {*reinterpret_cast<const uint4*>(from), *reinterpret_cast<const uint4*>(from + C::kWidth / 2)};
      from += kRowsAtOnce * x.step[2];
    });
  }

  // fn(i, row, element) for this thread's parts of rows.
  template <class Fn>
  __device__ __forceinline__ static void each(Fn&& fn) {
#pragma unroll
    for (int i = 0; i < kNum; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * C::kThreads;
      if (at < kRows * C::kHalves) fn(i, at / C::kHalves, at % C::kHalves * 8);
    }
  }

  RowHalves x_[kNum] = {}, cosine_[kAngles] = {}, sine_[kAngles] = {};
  bool turns_ = false;
};

// A term's values for a warp's scores, on their way: pairs of neighbouring keys, not taken apart before all are asked for.
template <class U>
class TermUnderWay {
 public:
  __device__ __forceinline__ void read(const TurnedTerm& term, int batch, int head, const int (&row)[2], int key,
                                       int keys) {
    if (term.data == nullptr) return;
    const U* of_head = static_cast<const U*>(term.data) + batch * term.step[0] + head * term.step[1];
    const U* const of_row[2] = {of_head + row[0] * term.step[2], of_head + row[1] * term.step[2]};
    if (!term.pairs) return read_singly(of_row, term.step[3], key, keys);
    is_repeated_ = term.step[2] == 0;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int at = key + i / 2 * 8;
      if (at < keys && (i % 2 == 0 || !is_repeated_)) pair_[i] = *reinterpret_cast<const Pair*>(of_row[i % 2] + at);
    }
  }
  // Of keys key + n * 8 + c, in the first row where c < 2, else in the other.
  __device__ __forceinline__ U operator()(int n, int c) const {
    const Pair pair = is_repeated_ ? pair_[n * 2] : pair_[n * 2 + c / 2];
    return static_cast<U>(c % 2 == 0 ? pair : pair >> 8 * sizeof(U));
  }

 private:
  using Pair = std::conditional_t<sizeof(U) == 2, uint32_t, uint16_t>;
  static constexpr int kPairs = 8;

  __device__ __forceinline__ void read_singly(const U* const (&of_row)[2], int64_t step, int key, int keys) {
    U value[kPairs][2] = {};
#pragma unroll
    for (int i = 0; i < kPairs; ++i)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int at = key + i / 2 * 8 + c;
        if (at < keys) value[i][c] = of_row[i % 2][at * step];
      }
#pragma unroll
    for (int i = 0; i < kPairs; ++i)
      pair_[i] = static_cast<Pair>(value[i][0] | static_cast<uint32_t>(value[i][1]) << 8 * sizeof(U));
  }

  Pair pair_[kPairs] = {};
  bool is_repeated_ = false;
};

// A warp's 16 queries with its share of the keys.
template <class C>
struct Weighed {
  float sum[C::kWidth / 8][4] = {}, largest[2] = {-INFINITY, -INFINITY}, weight[2] = {};
};

template <class C>
__device__ __forceinline__ void score_keys(const typename C::Tiles& tiles, float (&s)[4][4]) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, share = warp % C::kShares;
  const auto* q = tiles.q + (warp / C::kShares * 16 + lane % 16) * C::kStride + lane / 16 * 8;
  const auto* k = tiles.k + (share * C::kShare + lane / 16 * 8 + lane % 8) * C::kStride + lane / 8 % 2 * 8;
#pragma unroll
  for (int step = 0; step < C::kWidth / 16; ++step) {
    uint32_t a[4];
    load_matrices<false>(a, q + step * 16);
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      uint32_t b[4];
      load_matrices<false>(b, k + pair * 16 * C::kStride + step * 16);
      multiply(typename C::T{}, s[2 * pair], a, b[0], b[1], s[2 * pair]);
      multiply(typename C::T{}, s[2 * pair + 1], a, b[2], b[3], s[2 * pair + 1]);
    }
  }
}

// Scores become weights beside the largest.
template <class C>
__device__ __forceinline__ void weigh(Weighed<C>& w, float (&s)[4][4]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float largest = -INFINITY, weight = 0;
#pragma unroll
    for (int n = 0; n < 4; ++n) largest = fmaxf(largest, fmaxf(s[n][2 * h], s[n][2 * h + 1]));
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, 2));
    const float from = largest == -INFINITY ? 0.0f : largest;
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int c = 2 * h; c < 2 * h + 2; ++c) {
        s[n][c] = exp2_approx((s[n][c] - from) * kLog2E);
        weight += s[n][c];
      }
    weight += __shfl_xor_sync(~0u, weight, 1);
    weight += __shfl_xor_sync(~0u, weight, 2);
    w.largest[h] = largest;
    w.weight[h] = weight;
  }
}

template <class C>
__device__ __forceinline__ void add_values(const typename C::Tiles& tiles, const float (&s)[4][4], Weighed<C>& w) {
  using T = typename C::T;
  const int lane = threadIdx.x % kWarp, share = threadIdx.x / kWarp % C::kShares;
  const T* v = tiles.v + (share * C::kShare + lane % 16) * C::kStride + lane / 16 * 8;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float(&low)[4] = s[2 * half], (&high)[4] = s[2 * half + 1];
    const uint32_t a[4] = {narrow_pair<T>(low[0], low[1]), narrow_pair<T>(low[2], low[3]),
                           narrow_pair<T>(high[0], high[1]), narrow_pair<T>(high[2], high[3])};
#pragma unroll
    for (int pair = 0; pair < C::kWidth / 16; ++pair) {
      uint32_t b[4];
      load_matrices<true>(b, v + half * 16 * C::kStride + pair * 16);
      multiply(T{}, w.sum[2 * pair], a, b[0], b[1], w.sum[2 * pair]);
      multiply(T{}, w.sum[2 * pair + 1], a, b[2], b[3], w.sum[2 * pair + 1]);
    }
  }
}

// The scores of a warp's share of the keys at hand, and what terms make of them.
template <class C>
struct TermsUnderWay {
  TermUnderWay<uint16_t> added[2];
  TermUnderWay<uint8_t> mask;
  int key, first;  // the thread's first one, the warp's

  __device__ __forceinline__ void read(const TurnedAttention& p, int batch, int head, int first_query) {
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    first = warp % C::kShares * C::kShare;
    key = first + lane % 4 * 2;
    const int first_row = first_query + warp / C::kShares * 16 + lane / 4;
    const int row[2] = {min(first_row, p.rows - 1), min(first_row + 8, p.rows - 1)};
    for (int i = 0; i < 2; ++i) added[i].read(p.added[i], batch, head, row, key, p.keys);
    mask.read(p.mask, batch, head, row, key, p.keys);
  }

  __device__ __forceinline__ void apply(const TurnedAttention& p, float (&s)[4][4]) const {
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        float& score = s[n][c];
        score *= p.scale;
        if (p.added[0].data != nullptr) score += widen(typename C::T{added[0](n, c)});
        if (p.added[1].data != nullptr) score += widen(typename C::T{added[1](n, c)});
        if (p.mask.data != nullptr && mask(n, c) == 0) score = p.fill;
        if (key + n * 8 + c % 2 >= p.keys) score = -INFINITY;
      }
  }
};

template <class C>
__device__ __forceinline__ void keep_results(typename C::Results& results, const Weighed<C>& w) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = lane / 4 + 8 * h;
#pragma unroll
    for (int n = 0; n < C::kWidth / 8; ++n)
      *reinterpret_cast<float2*>(&results.sum[warp][row][n * 8 + lane % 4 * 2]) = {w.sum[n][2 * h],
                                                                                   w.sum[n][2 * h + 1]};
    if (lane % 4 == 0) results.largest[warp][row] = w.largest[h], results.weight[warp][row] = w.weight[h];
  }
}

// The shares of keys together. Without any weight, as of rows whose scores are all -inf: NaN, or sums of zeros. Whether this thread
// wrote zeros because weights were NaN.
template <class C>
__device__ __forceinline__ bool write_results(const TurnedAttention& p, const typename C::Results& results, int batch,
                                              int head, int first_query) {
  using T = typename C::T;
  bool any_undefined = false;
#pragma unroll 1  // instructions are fetched once, and take longer than the arithmetic
  for (int i = threadIdx.x; i < C::kQueries * C::kWidth / 4; i += C::kThreads) {
    const int query = i / (C::kWidth / 4), column = i % (C::kWidth / 4) * 4, first = query / 16 * C::kShares,
              row = query % 16;
    if (first_query + query >= p.rows) break;
    float largest = -INFINITY, weight = 0, value[4] = {};
#pragma unroll
    for (int share = 0; share < C::kShares; ++share) largest = fmaxf(largest, results.largest[first + share][row]);
    const float from = largest == -INFINITY ? 0.0f : largest;
#pragma unroll
    for (int share = 0; share < C::kShares; ++share) {
      const float factor = exp2_approx((results.largest[first + share][row] - from) * kLog2E);
      const float4 sum = *reinterpret_cast<const float4*>(&results.sum[first + share][row][column]);
      weight += factor * results.weight[first + share][row];
      value[0] += factor * sum.x, value[1] += factor * sum.y, value[2] += factor * sum.z, value[3] += factor * sum.w;
    }
    const bool undefined = isnan(weight) && p.zero_rows == ops::ZeroRows::kUndefined;
    any_undefined |= undefined;
    if (weight == 0 && p.zero_rows != ops::ZeroRows::kNone) weight = 1;
    const float factor = 1.0f / weight;
#pragma unroll
    for (float& v : value) v = undefined ? 0.0f : v * factor;
    T* to = static_cast<T*>(const_cast<void*>(p.y.data)) + batch * p.y.step[0] + head * p.y.step[1] +
            (first_query + query) * p.y.step[2] + column;
    *reinterpret_cast<Pack<T, 4>*>(to) = put_together<T, 4>(value);
  }
  return any_undefined;
}

// As attention::spoil_zeros, for a block's rows.
template <class C>
__device__ __forceinline__ void spoil_zeros(const TurnedAttention& p, const Values<typename C::T>& values, int batch,
                                            int head, int first_query) {
  using T = typename C::T;
  T* y = static_cast<T*>(const_cast<void*>(p.y.data)) + batch * p.y.step[0] + head * p.y.step[1];
#pragma unroll 1
  for (int i = threadIdx.x; i < C::kQueries * C::kWidth; i += C::kThreads) {
    const int row = first_query + i / C::kWidth, column = i % C::kWidth;
    if (row >= p.rows) break;
    T& result = y[row * p.y.step[2] + column];
    if (widen(result) == 0 && values.spoil(0, p.keys, column)) result = narrow<T>(NAN);
  }
}

// Grid: query tiles, heads, batches. Threads: C::kThreads; shared memory: C::kSharedBytes.
template <class C>
__global__ void __launch_bounds__(C::kThreads) turned_attention_kernel(const __grid_constant__ TurnedAttention p) {
  extern __shared__ __align__(16) std::byte turned_memory[];
  auto& tiles = *reinterpret_cast<typename C::Tiles*>(turned_memory);
  auto& results = *reinterpret_cast<typename C::Results*>(turned_memory);
  const int first_query = blockIdx.x * C::kQueries, head = blockIdx.y, batch = blockIdx.z;
  let_next_begin();
  if (!p.constant_angles) wait_for_earlier();
  RowsUnderWay<C, C::kQueries, true> q;
  RowsUnderWay<C, C::kKeys, true> k;
  RowsUnderWay<C, C::kKeys, false> v;
  TermsUnderWay<C> terms;
  q.read_angles(p.q_cos, p.q_sin, batch, head, first_query, p.rows);
  k.read_angles(p.k_cos, p.k_sin, batch, head, 0, p.keys);
  wait_for_earlier();
  q.read(p.q, batch, head, first_query, p.rows);
  k.read(p.k, batch, head, 0, p.keys);
  v.read(p.v, batch, head, 0, p.keys);
  terms.read(p, batch, head, first_query);
  q.write(tiles.q);
  k.write(tiles.k);
  v.write(tiles.v);
  __syncthreads();
  Weighed<C> w;
  if (terms.first < p.keys) {
    float s[4][4] = {};
    score_keys<C>(tiles, s);
    terms.apply(p, s);
    weigh(w, s);
    add_values(tiles, s, w);
  }
  __syncthreads();
  keep_results<C>(results, w);
  __syncthreads();
  const bool undefined = write_results<C>(p, results, batch, head, first_query);
  if (p.zero_rows == ops::ZeroRows::kUndefined && __syncthreads_or(undefined))
    spoil_zeros<C>(p, {rows_of<typename C::T>(p.v, batch, head, 0), p.v.step[2], 1, C::kWidth}, batch, head,
                   first_query);
}

}  // namespace plica::cuda::attention
