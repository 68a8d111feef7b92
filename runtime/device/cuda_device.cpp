#include "runtime/device/cuda_device.h"

#include <charconv>
#include <string>

#include "runtime/device/cuda_status.h"

namespace plica {

int num_cuda_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

Result<int> parse_cuda_device(std::string_view text) {
  int ordinal = 0;
  if (text != "cuda") {
    const std::string_view digits = text.substr(std::min<size_t>(text.size(), 5));
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (!text.starts_with("cuda:") || error != std::errc() || end != digits.data() + digits.size() || ordinal < 0)
      return Error(Code::kInvalidInput, "device '" + std::string(text) + "', wanted cuda or cuda:N");
  }
  if (const int count = num_cuda_devices(); ordinal >= count)
    return Error(Code::kDeviceError,
                 "device '" + std::string(text) + "': this process can use " + std::to_string(count) + " GPUs");
  return ordinal;
}

Result<DeviceTraits> cuda_traits(int ordinal) {
  int major = 0, minor = 0, shared_bytes = 0;
  const auto read = [&](int& value, cudaDeviceAttr attribute) {
    return cuda_status(cudaDeviceGetAttribute(&value, attribute, ordinal),
                       "reading the properties of device cuda:" + std::to_string(ordinal));
  };
  PLICA_CHECK(read(major, cudaDevAttrComputeCapabilityMajor));
  PLICA_CHECK(read(minor, cudaDevAttrComputeCapabilityMinor));
  PLICA_CHECK(read(shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin));
  DeviceTraits traits;
  traits.device = Device::kCuda;
  traits.compute_capability = 10 * major + minor;
  traits.shared_memory_bytes = static_cast<size_t>(shared_bytes);
  return traits;
}

CudaDeviceScope::CudaDeviceScope(int ordinal) {
  cudaGetDevice(&previous_);
  if (previous_ != ordinal) cudaSetDevice(ordinal);
}

CudaDeviceScope::~CudaDeviceScope() { cudaSetDevice(previous_); }

}  // namespace plica
