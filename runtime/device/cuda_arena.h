#pragma once

#include <cstddef>
#include <vector>

#include "runtime/core/result.h"

namespace plica {

// Device memory of a session whose base never moves, so that captured graphs stay valid: a range of addresses is
// reserved once, memory is mapped behind it as plans need more. Not thread-safe. Its end does not wait for the device, which
// would break what other threads capture: work that uses the memory is done by then.
class CudaArena {
 public:
  explicit CudaArena(int ordinal) : ordinal_(ordinal) {}
  CudaArena(CudaArena&& other) noexcept;
  CudaArena& operator=(CudaArena&& other) noexcept;
  ~CudaArena();

  // Makes [base, base + bytes) usable. Never shrinks, never moves. After kOutOfMemory (which names the bytes wanted,
  // mapped and free) the arena is as it was.
  Status grow(size_t bytes);

  std::byte* base() const { return reinterpret_cast<std::byte*>(base_); }
  size_t num_bytes() const { return num_bytes_; }

 private:
  Status reserve();
  Status map_chunk(size_t bytes);

  using Address = unsigned long long;  // CUdeviceptr, CUmemGenericAllocationHandle
  struct Chunk {
    Address handle;
    size_t bytes;
  };
  int ordinal_ = 0;
  Address base_ = 0;
  size_t num_bytes_ = 0, reserved_bytes_ = 0, granularity_ = 0;
  std::vector<Chunk> chunks_;
};

}  // namespace plica
