#pragma once

#include <string_view>

#include "runtime/core/result.h"
#include "runtime/device/traits.h"

namespace plica {

// GPUs that this process can use; 0 without a driver.
int num_cuda_devices();

// "cuda" (device 0) or "cuda:N" as an ordinal; kInvalidInput for other text, kDeviceError where there is no such GPU.
Result<int> parse_cuda_device(std::string_view text);

// Read from the device.
Result<DeviceTraits> cuda_traits(int ordinal);

// Makes a device the current one of this thread while it lives.
class CudaDeviceScope {
 public:
  explicit CudaDeviceScope(int ordinal);
  CudaDeviceScope(const CudaDeviceScope&) = delete;
  CudaDeviceScope& operator=(const CudaDeviceScope&) = delete;
  ~CudaDeviceScope();

 private:
  int previous_ = 0;
};

}  // namespace plica
