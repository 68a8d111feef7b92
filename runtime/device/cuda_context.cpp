#include "runtime/device/cuda_context.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "runtime/device/cuda_arena.h"
#include "runtime/device/cuda_device.h"
#include "runtime/device/cuda_memory.h"
#include "runtime/device/cuda_queue.h"
#include "runtime/device/cuda_status.h"
#include "runtime/device/cuda_stream.h"

namespace plica {
namespace {

constexpr size_t kUploadAlignment = 256;
constexpr size_t kStagingBytes = size_t{4} << 20;  // of each of two pinned buffers

// Uploads of one model, one behind the other in memory that never moves. Thread-safe.
class Uploads {
 public:
  explicit Uploads(int ordinal) : arena_(ordinal) {}

  Result<void*> add(const void* data, size_t bytes) {
    const std::lock_guard lock(mutex_);
    const size_t wanted = used_bytes_ + (bytes + kUploadAlignment - 1) / kUploadAlignment * kUploadAlignment;
    PLICA_CHECK(arena_.grow(std::max<size_t>(wanted, 1)));
    void* memory = arena_.base() + used_bytes_;
    PLICA_CHECK(copy(arena_.base() + used_bytes_, static_cast<const std::byte*>(data), bytes));
    used_bytes_ = wanted;
    return memory;
  }

  size_t used_bytes() const {
    const std::lock_guard lock(mutex_);
    return used_bytes_;
  }

 private:
  // Through two pinned buffers in turn: the next part is read from the file while the device takes the last one.
  Status copy(std::byte* to, const std::byte* from, size_t bytes) {
    if (!stream_) {
      PLICA_TRY(CudaStream stream, CudaStream::make());
      stream_ = std::make_unique<CudaStream>(std::move(stream));
      for (Staging& staging : staging_) {
        PLICA_TRY(staging.memory, plica::pinned_memory(kStagingBytes));
        PLICA_TRY(CudaEvent taken, CudaEvent::make());
        staging.taken = std::make_unique<CudaEvent>(std::move(taken));
      }
    }
    for (size_t at = 0; at < bytes; at += kStagingBytes, turn_ ^= 1) {
      const size_t part = std::min(kStagingBytes, bytes - at);
      const Staging& staging = staging_[turn_];
      PLICA_CHECK(staging.taken->synchronize());
      std::memcpy(staging.memory.get(), from + at, part);
      PLICA_CHECK(cuda_status(
          cudaMemcpyAsync(to + at, staging.memory.get(), part, cudaMemcpyHostToDevice, stream_->get()), "uploading"));
      PLICA_CHECK(staging.taken->record(stream_->get()));
    }
    return stream_->synchronize();
  }

  struct Staging {
    std::shared_ptr<void> memory;
    std::unique_ptr<CudaEvent> taken;
  };

  mutable std::mutex mutex_;
  CudaArena arena_;
  size_t used_bytes_ = 0;
  std::unique_ptr<CudaStream> stream_;
  Staging staging_[2];
  size_t turn_ = 0;
};

class CudaContext final : public DeviceContext {
 public:
  CudaContext(int ordinal, const DeviceTraits& traits, const DeviceLimits& limits)
      : ordinal_(ordinal), traits_(traits), limits_(limits), uploads_(std::make_shared<Uploads>(ordinal)) {}

  const DeviceTraits& traits() const override { return traits_; }
  std::string name() const override { return "cuda:" + std::to_string(ordinal_); }
  DeviceLimits limits() const override { return limits_; }

  Result<size_t> free_bytes() const override {
    const CudaDeviceScope scope(ordinal_);
    PLICA_TRY(const DeviceMemoryInfo info, device_memory_info());
    return info.free_bytes;
  }

  MemoryKind kind_of(const void* memory) const override {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
      cudaGetLastError();
      return MemoryKind::kHost;
    }
    if (attributes.type == cudaMemoryTypeManaged) return MemoryKind::kDevice;
    if (attributes.type != cudaMemoryTypeDevice) return MemoryKind::kHost;
    return attributes.device == ordinal_ ? MemoryKind::kDevice : MemoryKind::kOther;
  }

  Result<std::shared_ptr<void>> upload(const void* data, size_t bytes) override {
    const CudaDeviceScope scope(ordinal_);
    PLICA_TRY(void* const memory, uploads_->add(data, bytes));
    return std::shared_ptr<void>(uploads_, memory);
  }

  size_t uploaded_bytes() const override { return uploads_->used_bytes(); }

  Result<std::shared_ptr<void>> allocate(size_t bytes) override {
    const CudaDeviceScope scope(ordinal_);
    return device_memory(bytes);
  }

  Status copy(void* to, const void* from, size_t bytes, void* stream) override {
    const CudaDeviceScope scope(ordinal_);
    auto* const queue = static_cast<cudaStream_t>(stream);
    PLICA_CHECK(cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, queue), "copying"));
    return cuda_status(cudaStreamSynchronize(queue), "copying");
  }

  Result<std::unique_ptr<DeviceQueue>> make_queue() override { return make_cuda_queue(ordinal_); }

  int enter() override {
    int previous = 0;
    cudaGetDevice(&previous);
    if (previous != ordinal_) cudaSetDevice(ordinal_);
    return previous;
  }
  void leave(int previous) override {
    if (previous != ordinal_) cudaSetDevice(previous);
  }

 private:
  const int ordinal_;
  const DeviceTraits traits_;
  const DeviceLimits limits_;
  std::shared_ptr<Uploads> uploads_;
};

// From the device's rated clocks and widths: operations that a multiprocessor does a cycle, and the share of the rated speed
// that long products and copies hold.
Result<DeviceLimits> limits_of(int ordinal) {
  const auto read = [&](cudaDeviceAttr attribute) -> Result<double> {
    int value = 0;
    PLICA_CHECK(cuda_status(cudaDeviceGetAttribute(&value, attribute, ordinal), "reading the device's properties"));
    return static_cast<double>(value);
  };
  PLICA_TRY(const double memory_khz, read(cudaDevAttrMemoryClockRate));
  PLICA_TRY(const double bus_bits, read(cudaDevAttrGlobalMemoryBusWidth));
  PLICA_TRY(const double processors, read(cudaDevAttrMultiProcessorCount));
  PLICA_TRY(const double clock_khz, read(cudaDevAttrClockRate));
  PLICA_TRY(const double major, read(cudaDevAttrComputeCapabilityMajor));
  constexpr double kMemoryHolds = 0.88, kLanesHold = 0.9, kMatrixUnitsHold = 0.74;
  const double cycles = processors * clock_khz * 1e3;
  const double half_a_cycle = major >= 9 ? 8 * 512 : 4 * 512;
  return DeviceLimits{kMemoryHolds * 2 * memory_khz * 1e3 * bus_bits / 8, kLanesHold * 256 * cycles,
                      kMatrixUnitsHold * half_a_cycle / 2 * cycles, kMatrixUnitsHold * half_a_cycle * cycles};
}

}  // namespace

Result<std::shared_ptr<DeviceContext>> open_cuda_device(const std::string& name, int num_threads) {
  PLICA_TRY(const int ordinal, parse_cuda_device(name));
  PLICA_TRY(DeviceTraits traits, cuda_traits(ordinal));
  traits.num_threads = num_threads;
  PLICA_TRY(const DeviceLimits limits, limits_of(ordinal));
  return std::shared_ptr<DeviceContext>(std::make_shared<CudaContext>(ordinal, traits, limits));
}

}  // namespace plica
