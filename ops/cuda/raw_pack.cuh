#pragma once

#include <cstdint>
#include <type_traits>

#include "ops/cuda/element.cuh"

namespace plica::cuda {

// A pack as the words that a load leaves in registers. Taking 16-bit values apart waits for the load: a kernel does so where
// it needs them, behind all its loads.
template <int kBytes>
struct alignas(kBytes) RawWords {
  uint32_t word[kBytes / 4];
};
template <class T, int kNum>
using RawPack =
    std::conditional_t<sizeof(T) * kNum % 4 == 0, RawWords<static_cast<int>(sizeof(T)) * kNum>, Pack<T, kNum>>;

template <class T, int kNum>
__device__ RawPack<T, kNum> raw_pack(const Pack<T, kNum>& pack) {
  return *reinterpret_cast<const RawPack<T, kNum>*>(&pack);
}

// fn(i, value) for each element.
template <class T, int kNum, class Fn>
__device__ void take_apart(const RawPack<T, kNum>& raw, Fn&& fn) {
  if constexpr (sizeof(T) == 4) {
#pragma unroll
    for (int i = 0; i < kNum; ++i) fn(i, __uint_as_float(raw.word[i]));
  } else if constexpr (sizeof(T) == 2 && kNum > 1) {
#pragma unroll
    for (int i = 0; i < kNum; ++i) {
      const uint32_t word = raw.word[i / 2];
      if constexpr (std::is_same_v<T, BF16>)
        fn(i, __uint_as_float(i % 2 == 0 ? word << 16 : word & 0xffff0000u));
      else
        fn(i, widen(T{static_cast<uint16_t>(i % 2 == 0 ? word : word >> 16)}));
    }
  } else {
#pragma unroll
    for (int i = 0; i < kNum; ++i) fn(i, widen(raw.v[i]));
  }
}

// The values, each rounded to T.
template <class T, int kNum>
__device__ Pack<T, kNum> put_together(const float* value) {
  if constexpr (sizeof(T) == 2 && kNum % 2 == 0) {
    RawPack<T, kNum> raw;
#pragma unroll
    for (int i = 0; i < kNum / 2; ++i) {
      if constexpr (std::is_same_v<T, BF16>) {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(value[2 * i], value[2 * i + 1]);
        raw.word[i] = *reinterpret_cast<const uint32_t*>(&pair);
      } else {
        const __half2 pair = __floats2half2_rn(value[2 * i], value[2 * i + 1]);
        raw.word[i] = *reinterpret_cast<const uint32_t*>(&pair);
      }
    }
    return *reinterpret_cast<const Pack<T, kNum>*>(&raw);
  } else {
    Pack<T, kNum> pack;
#pragma unroll
    for (int i = 0; i < kNum; ++i) pack.v[i] = narrow<T>(value[i]);
    return pack;
  }
}

}  // namespace plica::cuda
