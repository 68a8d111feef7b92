#include "runtime/device/cuda_driver.h"

#include <cuda_runtime_api.h>

#include <string>

#include "runtime/device/cuda_status.h"

namespace plica {
namespace {

template <class Function>
Status find(const char* name, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult query{};
#if CUDART_VERSION >= 12050
  const cudaError_t status = cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &query);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &query);
#endif
  PLICA_CHECK(cuda_status(status, std::string("looking up ").append(name).append(" in the driver")));
  if (query != cudaDriverEntryPointSuccess || found == nullptr)
    return Error(Code::kDeviceError, std::string("the driver has no ").append(name));
  function = reinterpret_cast<Function>(found);
  return {};
}

Result<CudaDriver> look_up() {
  CudaDriver driver;
  PLICA_CHECK(find("cuGetErrorString", driver.get_error_string));
  PLICA_CHECK(find("cuMemAddressReserve", driver.address_reserve));
  PLICA_CHECK(find("cuMemAddressFree", driver.address_free));
  PLICA_CHECK(find("cuMemGetAllocationGranularity", driver.allocation_granularity));
  PLICA_CHECK(find("cuMemCreate", driver.create));
  PLICA_CHECK(find("cuMemRelease", driver.release));
  PLICA_CHECK(find("cuMemMap", driver.map));
  PLICA_CHECK(find("cuMemUnmap", driver.unmap));
  PLICA_CHECK(find("cuMemSetAccess", driver.set_access));
  PLICA_CHECK(find("cuTensorMapEncodeTiled", driver.encode_tiled));
  return driver;
}

}  // namespace

Status CudaDriver::status(CUresult result, std::string_view doing) const {
  if (result == CUDA_SUCCESS) return {};
  const char* text = nullptr;
  get_error_string(result, &text);
  return Error(result == CUDA_ERROR_OUT_OF_MEMORY ? Code::kOutOfMemory : Code::kDeviceError,
               std::string(doing).append(": ").append(text != nullptr ? text : "unknown error"));
}

Result<const CudaDriver*> cuda_driver() {
  static const Result<CudaDriver> driver = look_up();
  if (!driver) return driver.error();
  return &*driver;
}

}  // namespace plica
