#pragma once

#include <cstddef>

#include "plica/device.h"

namespace plica {

// What a kernel may know of the device it will run on.
struct DeviceTraits {
  Device device = Device::kCpu;
  int num_threads = 1;             // of the team that runs a CPU kernel
  int compute_capability = 0;      // 90 for Hopper; 0 on the CPU
  size_t shared_memory_bytes = 0;  // of one block, opt-in limit
};

}  // namespace plica
