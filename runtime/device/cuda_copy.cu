#include <cstdint>

#include "runtime/device/cuda_copy.h"

namespace plica {
namespace {

constexpr unsigned kBlock = 256;

// A thread copies one word of T, the first one also the bytes behind the words.
template <class T>
__global__ void __launch_bounds__(kBlock) copy(std::byte* __restrict__ to,          // (bytes)
                                               const std::byte* __restrict__ from,  // (bytes)
                                               size_t bytes) {
  const size_t words = bytes / sizeof(T), i = size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i < words) reinterpret_cast<T*>(to)[i] = reinterpret_cast<const T*>(from)[i];
  if (i == 0)
    for (size_t at = words * sizeof(T); at < bytes; ++at) to[at] = from[at];
}

// A thread fills one element.
__global__ void __launch_bounds__(kBlock) fill(const __grid_constant__ FillKernel::Arguments p) {
  const size_t i = size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= p.width) return;
  if (p.element_bytes == 4) static_cast<uint32_t*>(p.to)[i] = p.value;
  if (p.element_bytes == 2) static_cast<uint16_t*>(p.to)[i] = static_cast<uint16_t>(p.value);
  if (p.element_bytes == 1) static_cast<uint8_t*>(p.to)[i] = static_cast<uint8_t>(p.value);
}

template <class T>
void launch(std::byte* to, const std::byte* from, size_t bytes, cudaStream_t stream) {
  const size_t blocks = (bytes / sizeof(T) + kBlock - 1) / kBlock;
  copy<T><<<static_cast<unsigned>(blocks == 0 ? 1 : blocks), kBlock, 0, stream>>>(to, from, bytes);
}

}  // namespace

void copy_by_kernel(void* to, const void* from, size_t bytes, cudaStream_t stream) {
  auto* const target = static_cast<std::byte*>(to);
  const auto* const source = static_cast<const std::byte*>(from);
  const auto either = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from);
  if (either % sizeof(uint4) == 0) {
    launch<uint4>(target, source, bytes, stream);
  } else {
    launch<unsigned char>(target, source, bytes, stream);
  }
}

FillKernel fill_kernel() { return {reinterpret_cast<const void*>(&fill), kBlock}; }

}  // namespace plica
