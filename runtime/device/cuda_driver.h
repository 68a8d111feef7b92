#pragma once

#include <cuda.h>

#include <string_view>

#include "runtime/core/result.h"

namespace plica {

// The functions of the driver that the runtime does not wrap, found at run time: programs start without a driver.
struct CudaDriver {
  decltype(&::cuGetErrorString) get_error_string = nullptr;
  decltype(&::cuMemAddressReserve) address_reserve = nullptr;
  decltype(&::cuMemAddressFree) address_free = nullptr;
  decltype(&::cuMemGetAllocationGranularity) allocation_granularity = nullptr;
  decltype(&::cuMemCreate) create = nullptr;
  decltype(&::cuMemRelease) release = nullptr;
  decltype(&::cuMemMap) map = nullptr;
  decltype(&::cuMemUnmap) unmap = nullptr;
  decltype(&::cuMemSetAccess) set_access = nullptr;
  decltype(&::cuTensorMapEncodeTiled) encode_tiled = nullptr;

  Status status(CUresult result, std::string_view doing) const;
};

// Of this process, looked up once; kDeviceError where there is no driver or it lacks a function.
Result<const CudaDriver*> cuda_driver();

}  // namespace plica
