#pragma once

#include "ops/cuda/approximate.cuh"
#include "ops/cuda/matrix_fragments.cuh"

namespace plica::cuda {

// Mean and 1 / sqrt(variance + eps) of each row of a matrix of 16 bits, which warps of all blocks of a kernel make while others multiply;
// without a mean 0 and 1 / sqrt(mean square + eps). Both are 0 where a norm gives zeros.
struct RowMoments {
  const void* rows = nullptr;  // (m, k), whole vectors of 16 bytes
  int64_t row_step = 0;        // in elements
  float2* to = nullptr;        // (m)
  int m = 0, k = 0;
  float eps = 0;
  bool has_mean = false;
  unsigned* progress =
      nullptr;       // [2]: warps that have made theirs, and those that are through; 0 at first and at the end
  int patience = 0;  // looks, of half a microsecond or more, at whether others have made theirs
};

// Sums over a part of a row, of numbers less the row's first: its distance from the mean is at most sqrt(k) deviations, so nothing is lost
// where the mean is far from 0.
template <class T>
struct MomentSums {
  float first = 0, sum = 0, square = 0;

  __device__ void add(const uint4& words) {
    const float2 x = less_first(words.x), y = less_first(words.y), z = less_first(words.z), w = less_first(words.w);
    sum += ((x.x + x.y) + (y.x + y.y)) + ((z.x + z.y) + (w.x + w.y));
    square += fmaf(x.x, x.x, fmaf(x.y, x.y, fmaf(y.x, y.x, y.y * y.y))) +
              fmaf(z.x, z.x, fmaf(z.y, z.y, fmaf(w.x, w.x, w.y * w.y)));
  }
  __device__ float2 less_first(uint32_t bits) const {
    const float2 pair = widen_pair<T>(bits);
    return {pair.x - first, pair.y - first};
  }
  // With those of the other parts, in kLanes neighbouring lanes.
  template <int kLanes = kWarp>
  __device__ float2 finish(int k, float eps, bool has_mean) {
#pragma unroll
    for (int step = 1; step < kLanes; step *= 2) {
      sum += __shfl_xor_sync(~0u, sum, step);
      square += __shfl_xor_sync(~0u, square, step);
    }
    const float inverse = 1.0f / static_cast<float>(k), mean = has_mean ? sum * inverse : 0.0f;
    const float variance = fmaf(square, inverse, -mean * mean);
    // All of a row alike: what a product is off from mean times column sums is not to be scaled up. Squares beyond f32: as a norm has it.
    if ((has_mean && square == 0) || square == INFINITY) return {};
    return {first + mean, inverse_root_approximate(variance < 0 ? eps : variance + eps)};
  }
};

// A warp's moments of kRows rows, the same in all its threads; those from p.m on are of the last.
template <class T, int kRows>
__device__ inline void moments_of(const RowMoments& p, const int (&rows)[kRows], float2 (&moments)[kRows]) {
  constexpr int kAtOnce = 5;  // vectors of a row that a thread asks for at once
  const int lane = static_cast<int>(threadIdx.x) % kWarp, vectors = p.k / 8;
  const T* from[kRows];
  MomentSums<T> sums[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) from[i] = static_cast<const T*>(p.rows) + min(rows[i], p.m - 1) * p.row_step;
  for (int at = lane; at < vectors + lane; at += kAtOnce * kWarp) {
    uint4 words[kRows][kAtOnce];
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j)
        if (at + j * kWarp < vectors) words[i][j] = reinterpret_cast<const uint4*>(from[i])[at + j * kWarp];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (at == lane && p.has_mean) sums[i].first = widen_pair<T>(__shfl_sync(~0u, words[i][0].x, 0)).x;
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j)
        if (at + j * kWarp < vectors) sums[i].add(words[i][j]);
    }
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) moments[i] = sums[i].finish(p.k, p.eps, p.has_mean);
}

// Rows of the block, by warp `warp` of `warps` that share them.
template <class T>
__device__ inline void make_moments(const RowMoments& p, int warp, int warps) {
  const int first = blockIdx.x + warp * gridDim.x, step = gridDim.x * warps,
            lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int row = first; row < p.m; row += 2 * step) {
    const int rows[] = {row, row + step};
    float2 moments[2];
    moments_of<T>(p, rows, moments);
    if (lane == 0) p.to[row] = moments[0];
    if (lane == 0 && row + step < p.m) p.to[row + step] = moments[1];
  }
  __syncwarp();
  if (lane == 0) {
    __threadfence();
    atomicAdd(p.progress, 1u);
  }
}

// A warp copies the moments of num rows to shared memory when all of the device's `makers` warps have made theirs. Blocks that wait
// for each other may never be on the device together, beside another one's kernel: it does not wait for long, but makes them by itself.
template <class T>
__device__ inline void read_moments(const RowMoments& p, int row, int num, unsigned makers, float2* to) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  unsigned made = 0;
  for (int i = 0; made < makers && i < p.patience; ++i)
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(made) : "l"(p.progress) : "memory");
  if (__all_sync(~0u, made >= makers)) {
#pragma unroll 4
    for (int i = lane; i < num; i += kWarp) to[i] = row + i < p.m ? __ldcg(p.to + row + i) : float2{};
    return;
  }
  for (int i = 0; i < num && row + i < p.m; ++i) {
    const int rows[] = {row + i};
    float2 moments[1];
    moments_of<T>(p, rows, moments);
    if (lane == 0) to[i] = moments[0];
  }
}

// By one thread of each of the `makers`, when it wants nothing any more: the last leaves `progress` as it was.
__device__ inline void leave_moments(const RowMoments& p, unsigned makers) {
  if (atomicAdd(p.progress + 1, 1u) + 1 == makers) p.progress[0] = p.progress[1] = 0;
}

}  // namespace plica::cuda
