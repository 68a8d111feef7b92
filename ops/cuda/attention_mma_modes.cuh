// Long because each mode's products stand beside those that they must agree with.
#pragma once

#include "ops/cuda/attention_fragments.cuh"
#include "ops/cuda/attention_stage.cuh"

// The matrix arithmetic of the kernel `mma`: a warp multiplies 16 queries by tiles of keys, all in shared memory. In the names of
// PTX's fragments: lane = 4 g + t; an accumulator tile (16, 8) holds rows g and g + 8, columns 2 t and 2 t + 1.
namespace plica::cuda::attention {

constexpr int kStep = 16;  // columns of q and k that one step of scores takes

__device__ inline void multiply(BF16, float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                const float (&c)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}
__device__ inline void multiply(F16, float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                const float (&c)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}
__device__ inline void multiply_tf32(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                                     const float (&c)[4]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

// bf16 and fp16, sums in fp32.
template <class T>
struct Halves {
  using Element = T;
  static constexpr bool kSumsByProduct = true;  // the sums of weights come out of a product too
  static constexpr bool kTakesFewerRows = false;
  static constexpr int interleave(int) { return 1; }
  static constexpr int heads_a_block(int width) { return width == 16 ? 4 : width == 32 ? 2 : 1; }
  static constexpr int keys_a_tile(int width) { return width == 16 || width == 256 ? 32 : 64; }
  static constexpr int keys_a_longer_tile(int width) { return width == 16 ? 64 : keys_a_tile(width); }  // of one head
  // Rows of 16-byte chunks an odd number apart: eight rows of a matrix are in different banks.
  static constexpr int query_stride(int width) { return width + 8; }
  static constexpr int key_stride(int width) { return width + 8; }
  static constexpr int value_stride(int width) { return width + 8; }

  // s (16, 8 kTiles) = q k^T, tiles of queries (16, kWidth) and of keys (8 kTiles, kWidth), both with rows key_stride apart.
  template <int kWidth, int kTiles>
  __device__ static void score(float (&s)[kTiles][4], const T* q, const T* k) {
    constexpr int kStride = key_stride(kWidth);
    const int lane = threadIdx.x % kWarp;
    const T* q_row = q + lane % 16 * kStride + lane / 16 * 8;
    const T* k_row = k + (lane / 16 * 8 + lane % 8) * kStride + lane / 8 % 2 * 8;
    constexpr float kFresh[4] = {};
#pragma unroll
    for (int step = 0; step < kWidth; step += kStep) {
      uint32_t a[4];
      load_matrices<false>(a, q_row + step);
#pragma unroll
      for (int n = 0; n < kTiles; n += 2) {
        uint32_t b[4];
        load_matrices<false>(b, k_row + n * 8 * kStride + step);
        if (step == 0) {
          multiply(T{}, s[n], a, b[0], b[1], kFresh);
          multiply(T{}, s[n + 1], a, b[2], b[3], kFresh);
        } else {
          multiply(T{}, s[n], a, b[0], b[1], s[n]);
          multiply(T{}, s[n + 1], a, b[2], b[3], s[n + 1]);
        }
      }
    }
  }

  // y (16, 8 kColumns) += p (16, 8 kTiles) v, v a tile of values (8 kTiles, 8 kColumns); sums (16, 8) += p 1.
  template <int kTiles, int kColumns>
  __device__ static void add_values(float (&y)[kColumns][4], float (&sums)[4], const float (&p)[kTiles][4],
                                    const T* v) {
    constexpr int kStride = value_stride(kColumns * 8);
    const int lane = threadIdx.x % kWarp;
    const T* mine = v + lane % 16 * kStride + lane / 16 * 8;
    const uint32_t ones = pack(T{}, 1, 1);
#pragma unroll
    for (int n = 0; n < kTiles; n += 2) {
      const uint32_t a[4] = {pack(T{}, p[n][0], p[n][1]), pack(T{}, p[n][2], p[n][3]),
                             pack(T{}, p[n + 1][0], p[n + 1][1]), pack(T{}, p[n + 1][2], p[n + 1][3])};
      multiply(T{}, sums, a, ones, ones, sums);
#pragma unroll
      for (int e = 0; e < kColumns; e += 2) {
        uint32_t b[4];
        load_matrices<true>(b, mine + n * 8 * kStride + e * 8);
        multiply(T{}, y[e], a, b[0], b[1], y[e]);
        multiply(T{}, y[e + 1], a, b[2], b[3], y[e + 1]);
      }
    }
  }
};

// Tensor cores leave out the low 13 bits: what is added first makes the mean error zero, and leaves NaN and infinity as they are.
__device__ inline uint32_t to_tf32(float x) { return __float_as_uint(x * (1 + 0.7f / 2048)); }

// x = high + low, both as tf32 to within 2^-21 of x.
struct Split {
  uint32_t high, low;
};
__device__ inline Split split(float x) {
  const uint32_t high = __float_as_uint(x) & 0xffffe000u;
  return {high, __float_as_uint(x - __uint_as_float(high))};
}

// fp32 in memory, products in tf32, or as three tf32 products of split operands. The order of the columns of q and k, of the keys in p v and
// of the columns of y within a tile is free: it is chosen so that a lane reads 16 bytes at once.
template <bool kSplit>
struct Tf32 {
  using Element = float;
  static constexpr bool kSumsByProduct = false;
  static constexpr bool kTakesFewerRows = true;  // a block, where that leaves fewer without a query
  static constexpr int interleave(int width) { return width >= 32 ? 4 : 2; }
  static constexpr int heads_a_block(int) { return 1; }
  static constexpr int keys_a_tile(int width) { return width <= 128 ? 32 : 16; }
  static constexpr int keys_a_longer_tile(int width) { return keys_a_tile(width); }
  static constexpr int query_stride(int width) { return width == 16 ? 16 : width + 16; }
  static constexpr int key_stride(int width) { return query_stride(width); }
  static constexpr int value_stride(int width) { return width + 4; }

  template <int kWidth, int kTiles>
  __device__ static void score(float (&s)[kTiles][4], const float* q, const float* k) {
    constexpr int kStride = key_stride(kWidth);
    const int lane = threadIdx.x % kWarp, at = lane / 4 * kStride + lane % 4 * 4;
    constexpr float kFresh[4] = {};
#pragma unroll
    for (int step = 0; step < kWidth; step += kStep) {
      const float4 low = *reinterpret_cast<const float4*>(q + at + step);
      const float4 high = *reinterpret_cast<const float4*>(q + at + step + 8 * kStride);
      const Operand first(low.x, high.x, low.y, high.y), second(low.z, high.z, low.w, high.w);
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
        const float4 b = *reinterpret_cast<const float4*>(k + at + n * 8 * kStride + step);
        if (step == 0)
          first.multiply(s[n], b.x, b.y, kFresh);
        else
          first.multiply(s[n], b.x, b.y, s[n]);
        second.multiply(s[n], b.z, b.w, s[n]);
      }
    }
  }

  template <int kTiles, int kColumns>
  __device__ static void add_values(float (&y)[kColumns][4], float (&sums)[4], const float (&p)[kTiles][4],
                                    const float* v) {
    constexpr int kStride = value_stride(kColumns * 8), kRun = interleave(kColumns * 8);
    using Run = Pack<float, kRun>;
    const int lane = threadIdx.x % kWarp;
    const float* mine = v + lane % 4 * 2 * kStride + lane / 4 * kRun;
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
      sums[0] += p[n][0] + p[n][1];
      sums[2] += p[n][2] + p[n][3];
      const Operand a(p[n][0], p[n][2], p[n][1], p[n][3]);
#pragma unroll
      for (int e = 0; e < kColumns; e += kRun) {
        const Run even = *reinterpret_cast<const Run*>(mine + n * 8 * kStride + e * 8);
        const Run odd = *reinterpret_cast<const Run*>(mine + (n * 8 + 1) * kStride + e * 8);
#pragma unroll
        for (int i = 0; i < kRun; ++i) a.multiply(y[e + i], even.v[i], odd.v[i], y[e + i]);
      }
    }
  }

 private:
  // A (16, 8) of a product, ready.
  struct Operand {
    uint32_t high[4], low[4];

    __device__ Operand(float a0, float a1, float a2, float a3) {
      const float a[4] = {a0, a1, a2, a3};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if constexpr (kSplit) {
          const Split parts = split(a[i]);
          high[i] = parts.high;
          low[i] = parts.low;
        } else {
          high[i] = to_tf32(a[i]);
        }
      }
    }
    __device__ void multiply(float (&d)[4], float b0, float b1, const float (&c)[4]) const {
      if constexpr (kSplit) {
        const Split first = split(b0), second = split(b1);
        multiply_tf32(d, low, first.high, second.high, c);
        multiply_tf32(d, high, first.low, second.low, d);
        multiply_tf32(d, high, first.high, second.high, d);
      } else {
        multiply_tf32(d, high, to_tf32(b0), to_tf32(b1), c);
      }
    }
  };
};

}  // namespace plica::cuda::attention
