#include "runtime/device/cuda_memory.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>

#include "runtime/device/cuda_status.h"

namespace plica {

Result<std::shared_ptr<void>> device_memory(size_t bytes) {
  void* memory = nullptr;
  const Status status = cuda_status(cudaMalloc(&memory, std::max<size_t>(bytes, 1)), "allocating device memory");
  if (status) return std::shared_ptr<void>(memory, [](void* p) { cudaFree(p); });
  if (status.error().code() != Code::kOutOfMemory) return status.error();
  PLICA_TRY(const DeviceMemoryInfo info, device_memory_info());
  return Error(Code::kOutOfMemory, "the device has " + std::to_string(info.free_bytes) + " of " +
                                       std::to_string(info.total_bytes) + " bytes free, wanted " +
                                       std::to_string(bytes));
}

Result<std::shared_ptr<void>> pinned_memory(size_t bytes) {
  void* memory = nullptr;
  PLICA_CHECK(cuda_status(cudaHostAlloc(&memory, std::max<size_t>(bytes, 1), cudaHostAllocDefault),
                          "allocating " + std::to_string(bytes) + " bytes of pinned memory"));
  return std::shared_ptr<void>(memory, [](void* p) { cudaFreeHost(p); });
}

Result<DeviceMemoryInfo> device_memory_info() {
  DeviceMemoryInfo info;
  PLICA_CHECK(cuda_status(cudaMemGetInfo(&info.free_bytes, &info.total_bytes), "reading the device's free memory"));
  return info;
}

}  // namespace plica
