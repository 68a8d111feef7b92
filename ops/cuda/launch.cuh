#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "ops/op.h"

namespace plica::cuda {

constexpr int kWarp = 32;
constexpr int kBlock = 256;  // threads, where a kernel does not say otherwise

inline cudaStream_t stream_of(const KernelArgs& args) { return static_cast<cudaStream_t>(args.stream); }

__host__ __device__ constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Blocks for `count` items, `per_block` in each; a launch of none is an error of the runtime, so callers skip it.
inline dim3 blocks_for(int64_t count, int64_t per_block) {
  return dim3(static_cast<unsigned>(ceil_div(count, per_block)));
}

inline bool is_aligned(const void* pointer, size_t bytes) { return reinterpret_cast<uintptr_t>(pointer) % bytes == 0; }

// Reports the first fault that any thread finds: `fault` lies in memory of the device, zero before the run.
// `what` is text of the host, passed through.
__device__ inline void report(Fault* fault, const char* what, int64_t found, int64_t limit) {
  auto* slot = reinterpret_cast<unsigned long long*>(&fault->what);
  if (atomicCAS(slot, 0ull, reinterpret_cast<unsigned long long>(what)) != 0) return;
  fault->found = found;
  fault->limit = limit;
}

// `index` into an axis of `size`, negative ones counted from the end; clamped, and reported, where it is outside.
__device__ inline int64_t checked_index(int64_t index, int64_t size, Fault* fault, const char* what) {
  if (index < -size || index >= size) {
    report(fault, what, index, size);
    return index < 0 ? 0 : size - 1;
  }
  return index < 0 ? index + size : index;
}

constexpr const char* kIndexFault = "index";

}  // namespace plica::cuda
