#pragma once

#include <cstddef>
#include <memory>

#include "runtime/core/result.h"

namespace plica {

// Memory of the current device (for weights: what does not belong into the arena), freed with the last owner.
// kOutOfMemory names the bytes wanted and the bytes free.
Result<std::shared_ptr<void>> device_memory(size_t bytes);

// Host memory that the device reaches by itself: copies from and to it need no bounce and overlap with kernels.
Result<std::shared_ptr<void>> pinned_memory(size_t bytes);

struct DeviceMemoryInfo {
  size_t free_bytes = 0, total_bytes = 0;
};
Result<DeviceMemoryInfo> device_memory_info();  // of the current device

}  // namespace plica
