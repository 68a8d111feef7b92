#include "runtime/device/cuda_arena.h"

#include <string>
#include <utility>

#include "runtime/device/cuda_device.h"
#include "runtime/device/cuda_driver.h"
#include "runtime/device/cuda_memory.h"
#include "runtime/device/cuda_status.h"

namespace plica {
namespace {

CUmemAllocationProp properties(int ordinal) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = ordinal;
  return prop;
}

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

CudaArena::CudaArena(CudaArena&& other) noexcept
    : ordinal_(other.ordinal_),
      base_(std::exchange(other.base_, 0)),
      num_bytes_(std::exchange(other.num_bytes_, 0)),
      reserved_bytes_(std::exchange(other.reserved_bytes_, 0)),
      granularity_(other.granularity_),
      chunks_(std::exchange(other.chunks_, {})) {}

CudaArena& CudaArena::operator=(CudaArena&& other) noexcept {
  std::swap(ordinal_, other.ordinal_);
  std::swap(base_, other.base_);
  std::swap(num_bytes_, other.num_bytes_);
  std::swap(reserved_bytes_, other.reserved_bytes_);
  std::swap(granularity_, other.granularity_);
  std::swap(chunks_, other.chunks_);
  return *this;
}

CudaArena::~CudaArena() {
  if (base_ == 0) return;
  const auto driver = cuda_driver();
  if (!driver) return;
  const CudaDeviceScope scope(ordinal_);
  if (num_bytes_ > 0) (*driver)->unmap(base_, num_bytes_);
  for (const Chunk& chunk : chunks_) (*driver)->release(chunk.handle);
  (*driver)->address_free(base_, reserved_bytes_);
}

// Twice the device's memory: more than any arena that could run, and only addresses.
Status CudaArena::reserve() {
  PLICA_TRY(const CudaDriver* driver, cuda_driver());
  PLICA_TRY(const DeviceMemoryInfo info, device_memory_info());
  const CUmemAllocationProp prop = properties(ordinal_);
  PLICA_CHECK(driver->status(driver->allocation_granularity(&granularity_, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
                             "reading the device's page size"));
  const size_t bytes = round_up(2 * info.total_bytes, granularity_);
  PLICA_CHECK(driver->status(driver->address_reserve(&base_, bytes, 0, 0, 0), "reserving addresses for the arena"));
  reserved_bytes_ = bytes;
  return {};
}

Status CudaArena::map_chunk(size_t bytes) {
  PLICA_TRY(const CudaDriver* driver, cuda_driver());
  const CUmemAllocationProp prop = properties(ordinal_);
  Chunk chunk{0, bytes};
  PLICA_CHECK(driver->status(driver->create(&chunk.handle, bytes, &prop, 0), "allocating the arena"));
  const CUdeviceptr at = base_ + num_bytes_;
  if (Status status = driver->status(driver->map(at, bytes, 0, chunk.handle, 0), "mapping the arena"); !status) {
    driver->release(chunk.handle);
    return status;
  }
  CUmemAccessDesc access{};
  access.location = prop.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (Status status = driver->status(driver->set_access(at, bytes, &access, 1), "opening the arena"); !status) {
    driver->unmap(at, bytes);
    driver->release(chunk.handle);
    return status;
  }
  chunks_.push_back(chunk);
  num_bytes_ += bytes;
  return {};
}

Status CudaArena::grow(size_t bytes) {
  if (bytes <= num_bytes_) return {};
  const CudaDeviceScope scope(ordinal_);
  PLICA_CHECK(cuda_status(cudaFree(nullptr), "starting the device"));  // makes the context, where there is none
  if (base_ == 0) PLICA_CHECK(reserve());
  const size_t wanted = round_up(bytes, granularity_);
  Status status = wanted > reserved_bytes_ ? Error(Code::kOutOfMemory, "more than twice the device's memory")
                                           : map_chunk(wanted - num_bytes_);
  if (status || status.error().code() != Code::kOutOfMemory) return status;
  PLICA_TRY(const DeviceMemoryInfo info, device_memory_info());
  return Error(Code::kOutOfMemory,
               "the arena needs " + std::to_string(bytes) + " bytes of device cuda:" + std::to_string(ordinal_) +
                   "; it has " + std::to_string(num_bytes_) + ", and " + std::to_string(info.free_bytes) + " are free");
}

}  // namespace plica
