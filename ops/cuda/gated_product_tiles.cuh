#pragma once

#include "ops/cuda/async_copy.cuh"
#include "ops/cuda/element.cuh"
#include "ops/cuda/gated_product_form.cuh"
#include "ops/cuda/launch.cuh"
#include "ops/cuda/map_fn.cuh"
#include "ops/cuda/matrix_fragments.cuh"

namespace plica::cuda::gated {

constexpr int kGroupThreads = 128, kLine = 128;  // threads of a warpgroup; bytes of a line of operands, see wgmma.cuh
constexpr int kChunk = 64;                       // columns of y that a warpgroup makes at a time
constexpr int kMostShared = 232448;              // bytes of a block

// How a kernel is cut. A block holds the weights of its columns; each of its warpgroups, by itself, makes unit after unit.
template <class T_, int kDepth_, int kGroups_, bool kTwo_, bool kFirst_, bool kTransposed_, bool kPairs_,
          bool kSigmoid_>
struct Tile {
  using T = T_;
  static constexpr bool kPairs = kPairs_;             // fp32 as pairs of fp16 numbers, see split_weights
  using Factor = std::conditional_t<kPairs, F16, T>;  // what products take
  static constexpr int kDepth = kDepth_, kGroups = kGroups_;
  static constexpr bool kTwo = kTwo_, kFirst = kFirst_, kTransposed = kTransposed_;  // see Form
  static constexpr bool kSigmoid = kSigmoid_;  // is the activation: code of others between its parts takes time
  static constexpr bool kWide = sizeof(T) == 4, kBoxes = !kWide;  // fp32; tensor copies bring rows and weights
  // Columns that are multiplied at a time: fragments of two sources leave few registers.
  static constexpr int kPart = kTwo && !kWide ? 32 : kChunk, kParts = kChunk / kPart;
  static constexpr int kTileLines = kTransposed ? kChunk : 16;  // of a stage that leave together
  static constexpr int kThreads = kGroups * kGroupThreads;
  static constexpr int kUnit = 16 / sizeof(T);  // elements of 16 bytes
  static constexpr int kSteps = kDepth * sizeof(T) / 32, kProducts = kDepth * sizeof(Factor) / 32;  // of the depth
  static constexpr int kSlabBytes = 2 * kChunk * kLine, kPartBytes = kProducts / 4 * kSlabBytes;
  static constexpr int kChunkBytes = (kPairs ? 2 : 1) * kPartBytes;
  static constexpr int kSourceBytes = kUnitRows * kDepth * sizeof(T), kStageBytes = kUnitRows * kChunk * sizeof(T);
  static constexpr int kGroupBytes = (kTwo ? 2 : 1) * kSourceBytes + kStageBytes;
  static constexpr int kBiasBytes = (kPairs ? 4 : 2) * kChunk * sizeof(float), kNormBytes = 2 * kDepth * sizeof(T);
  static constexpr int kBarrierBytes = kBoxes ? 128 : 0;
  static constexpr int kOtherBytes = kGroups * kGroupBytes + (kTwo ? 2 : 1) * kNormBytes + kBarrierBytes;

  static constexpr int kMostChunks = (kMostShared - kOtherBytes) / (kChunkBytes + kBiasBytes);
  static_assert(kMostChunks > 0 && (!kBoxes || (kGroups + kMostChunks) * 8 <= kBarrierBytes));
  static size_t shared_bytes(int chunks) {
    return static_cast<size_t>(chunks * (kChunkBytes + kBiasBytes) + kOtherBytes);
  }
};

// In shared memory, in this order: weights of all chunks, then for each warpgroup its unit of a, that of b, and its stage; biases
// of each chunk and, of pairs, scales behind them; factors of norms; barriers of each warpgroup's unit, of each chunk. Addresses there.
struct Places {
  uint32_t weights, a, b, stage, biases, norms, unit_ready, chunks_ready;
};

template <class C>
__device__ Places find_places(int chunks) {
  extern __shared__ __align__(1024) unsigned char shared[];
  Places at{};
  at.weights = shared_address(shared);
  const uint32_t groups = at.weights + chunks * C::kChunkBytes;
  at.a = groups + threadIdx.x / kGroupThreads * C::kGroupBytes;
  at.b = at.a + C::kSourceBytes;
  at.stage = at.a + (C::kTwo ? 2 : 1) * C::kSourceBytes;
  at.biases = groups + C::kGroups * C::kGroupBytes;
  at.norms = at.biases + chunks * C::kBiasBytes;
  at.unit_ready = at.norms + (C::kTwo ? 2 : 1) * C::kNormBytes + threadIdx.x / kGroupThreads * 8;
  at.chunks_ready = at.norms + (C::kTwo ? 2 : 1) * C::kNormBytes + C::kGroups * 8;
  return at;
}

// Where unit `unit` (16 bytes) of a row's depth stands in slabs of `rows` lines, swizzled as products read them.
__device__ inline uint32_t place_in_slabs(int rows, int row, int unit) {
  return unit / 8 * (rows * kLine) + row * kLine + (unit % 8 ^ row % 8) * 16;
}

// Where a unit of 16 bytes of a channel's rows stands.
template <class C>
__device__ uint32_t place_in_channels(int channel, int unit) {
  if constexpr (C::kWide) return channel * 2 * kLine + (unit ^ channel % 4 * 2) * 16;
  return channel * kLine + (unit ^ channel % 8) * 16;
}

// On a stage: lines of 64 columns of y, or, transposed, of 64 rows; 128 bytes of all lines, then the next ones.
__device__ inline uint32_t place_on_stage(int line, int unit) {
  return unit / 8 * (kUnitRows * kLine) + line * kLine + (unit % 8 ^ line % 8) * 16;
}

__device__ inline void bring_16(uint32_t to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}

// Brings the weights of chunks from `first_column` on, rows of gates behind rows of values in each; zeros beyond the matrix.
template <class C>
__device__ void bring_weights(const GatedProduct& p, const Places& at, int first_column, int chunks) {
  using T = typename C::T;
  constexpr int kUnits = C::kDepth / C::kUnit;
  for (int i = threadIdx.x; i < chunks * 2 * kChunk * kUnits; i += C::kThreads) {
    const int unit = i % kUnits, row = i / kUnits % (2 * kChunk), chunk = i / kUnits / (2 * kChunk);
    const bool gates = row >= kChunk;
    const int column = first_column + chunk * kChunk + row % kChunk;
    const bool valid = column < p.columns && unit * C::kUnit < p.depth;
    const T* from = static_cast<const T*>(gates ? p.gate : p.value);
    if (valid) from += column * (gates ? p.gate_step : p.value_step) + unit * C::kUnit;
    bring_16(at.weights + chunk * C::kChunkBytes + place_in_slabs(2 * kChunk, row, unit), from, valid);
  }
}

// Products cut what tf32 does not hold: what this thread has brought becomes the nearest number.
template <class C>
__device__ void round_weights(const Places& at, int chunks) {
  constexpr int kUnits = C::kDepth / C::kUnit;
  for (int i = threadIdx.x; i < chunks * 2 * kChunk * kUnits; i += C::kThreads) {
    const int unit = i % kUnits, row = i / kUnits % (2 * kChunk), chunk = i / kUnits / (2 * kChunk);
    auto& v = shared_at<float4>(at.weights + chunk * C::kChunkBytes + place_in_slabs(2 * kChunk, row, unit));
    v = {nearest_tf32(v.x), nearest_tf32(v.y), nearest_tf32(v.z), nearest_tf32(v.w)};
  }
}

// A power of two, and its inverse, that brings numbers up to `largest` into [0, 2^15).
struct Scale {
  float to, back;
};
__device__ inline Scale scale_for(float largest) {
  const uint32_t exponent = __float_as_uint(largest) >> 23, to = min(127 + 127 + 14 - exponent, 253u);
  return {__uint_as_float(to << 23), __uint_as_float((254 - to) << 23)};
}

// Two numbers, each as the sum of two of fp16, to 2^-22 where they are no less than 2^-14. Infinity is so in its low part alone:
// that meets high parts, not low ones, which may be 0 or of the other sign.
struct HalfPairs {
  uint32_t high, low;
};
__device__ inline HalfPairs split_pair(float first, float second, float scale) {
  first *= scale, second *= scale;
  const uint32_t high = narrow_pair_within<F16>(first, second);
  const float2 near = widen_pair<F16>(high);
  return {high, narrow_pair<F16>(first - near.x, second - near.y)};
}

// The weights of chunks as pairs: those of all high parts, then of all low ones; each row times a power of two, whose inverse
// stands behind the biases as they do. In eights of the depth 0 4 1 5 2 6 3 7: so fragments of fp32 become those of fp16.
template <class C>
__device__ void split_weights(const GatedProduct& p, const Places& at, int first_column, int chunks) {
  constexpr int kEights = C::kDepth / 8;
#pragma unroll 4
  for (int i = threadIdx.x; i < chunks * 2 * kChunk * kEights; i += C::kThreads) {
    const int eight = i % kEights, row = i / kEights % (2 * kChunk), chunk = i / kEights / (2 * kChunk);
    const bool gates = row >= kChunk;
    const int in_chunk = row % kChunk, column = first_column + chunk * kChunk + in_chunk;
    const auto* from =
        static_cast<const float*>(gates ? p.gate : p.value) + column * (gates ? p.gate_step : p.value_step) + eight * 8;
    float4 v[2] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (column < p.columns && eight * 8 + half * 4 < p.depth)
        v[half] = __ldg(reinterpret_cast<const float4*>(from) + half);
    float largest = 0;
#pragma unroll
    for (const float4& x : v)
      largest = fmaxf(largest, fmaxf(fmaxf(fabsf(x.x), fabsf(x.y)), fmaxf(fabsf(x.z), fabsf(x.w))));
#pragma unroll
    for (int other = 1; other < kEights; other *= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, other));
    const Scale scale = scale_for(largest);
    const HalfPairs pairs[4] = {split_pair(v[0].x, v[1].x, scale.to), split_pair(v[0].y, v[1].y, scale.to),
                                split_pair(v[0].z, v[1].z, scale.to), split_pair(v[0].w, v[1].w, scale.to)};
    const uint32_t to = at.weights + chunk * C::kChunkBytes + place_in_slabs(2 * kChunk, row, eight);
    shared_at<uint4>(to) = {pairs[0].high, pairs[1].high, pairs[2].high, pairs[3].high};
    shared_at<uint4>(to + C::kPartBytes) = {pairs[0].low, pairs[1].low, pairs[2].low, pairs[3].low};
    const int place = in_chunk / 2 * 4 + (gates ? 2 : 0) + in_chunk % 2;
    if (eight == 0) shared_at<float>(at.biases + chunk * C::kBiasBytes + (2 * kChunk + place) * 4) = scale.back;
  }
}

// A sigmoid gate's bias is kept times the factor that the gate gets: sigmoid(x) = (1 + tanh(x / 2)) / 2 = 1 / (1 + 2^(-x log2 e)).
template <class T>
constexpr float kGateScale = std::is_same_v<T, BF16> ? 0.5f : -1.44269504f;

// Biases as (chunk, pair of columns, two of the value and two of the gate), factors of norms as (source, gamma then beta, depth).
// With boxes not by the first warps, which wait for what comes earlier.
template <class C>
__device__ void bring_vectors(const GatedProduct& p, const Places& at, int first_column, int chunks) {
  using T = typename C::T;
  constexpr int kWaiting = C::kBoxes ? kWarp : 0, kBringers = C::kThreads - C::kGroups * kWaiting;
  if (static_cast<int>(threadIdx.x) % kGroupThreads < kWaiting) return;
  const int bringer = threadIdx.x - (threadIdx.x / kGroupThreads + 1) * kWaiting;
  for (int i = bringer; i < chunks * 2 * kChunk; i += kBringers) {
    const int column = first_column + i / 4 * 2 + i % 2;
    const auto* from = static_cast<const T*>(i % 4 < 2 ? p.value_bias : p.gate_bias);
    const uint32_t to = at.biases + i / (2 * kChunk) * C::kBiasBytes + i % (2 * kChunk) * 4;
    const float scale = C::kSigmoid && i % 4 >= 2 ? kGateScale<T> : 1.0f;
    shared_at<float>(to) = from != nullptr && column < p.columns ? widen(from[column]) * scale : 0.0f;
  }
  for (int i = bringer; i < (C::kTwo ? 4 : 2) * C::kDepth; i += kBringers) {
    const int which = i / C::kDepth;
    const Norm& norm = which < 2 ? p.norm : p.gate_norm;
    const auto* from = static_cast<const T*>(which % 2 == 0 ? norm.gamma : norm.beta);
    shared_at<T>(at.norms + i * sizeof(T)) = norm.gamma != nullptr && from != nullptr ? from[i % C::kDepth] : T{};
  }
}

}  // namespace plica::cuda::gated
