#include "runtime/device/device_context.h"

#include <cstdlib>
#include <cstring>

#include "runtime/device/device_name.h"
#include "runtime/device/processors.h"
#if PLICA_WITH_CUDA
#include "runtime/device/cuda_context.h"
#endif

namespace plica {
namespace {

class HostContext final : public DeviceContext {
 public:
  explicit HostContext(int num_threads) { traits_.num_threads = num_threads; }

  const DeviceTraits& traits() const override { return traits_; }
  std::string name() const override { return "cpu"; }
  DeviceLimits limits() const override { return {}; }
  Result<size_t> free_bytes() const override { return size_t{0}; }
  MemoryKind kind_of(const void*) const override { return MemoryKind::kDevice; }
  Result<std::shared_ptr<void>> upload(const void*, size_t) override {
    return Error(Code::kInternal, "the CPU reads memory of the host in place");
  }
  size_t uploaded_bytes() const override { return 0; }
  Result<std::shared_ptr<void>> allocate(size_t bytes) override {
    constexpr size_t kAlignment = 256;
    void* memory = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
    if (memory == nullptr) return Error(Code::kOutOfMemory, "the system has no more memory");
    return std::shared_ptr<void>(memory, std::free);
  }
  Status copy(void* to, const void* from, size_t bytes, void*) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return {};
  }
  Result<std::unique_ptr<DeviceQueue>> make_queue() override { return std::unique_ptr<DeviceQueue>(); }
  int enter() override { return 0; }
  void leave(int) override {}

 private:
  DeviceTraits traits_;
};

}  // namespace

std::shared_ptr<DeviceContext> host_context(int num_threads) { return std::make_shared<HostContext>(num_threads); }

Result<std::shared_ptr<DeviceContext>> open_device(const std::string& name, int num_threads) {
  if (num_threads < 0) return Error(Code::kInvalidInput, std::to_string(num_threads) + " threads, wanted 0 or more");
  const int threads = num_threads > 0 ? num_threads : num_processors();
  PLICA_CHECK(check_device_name(name));
  if (name == "cpu") return host_context(threads);
#if PLICA_WITH_CUDA
  return open_cuda_device(name, threads);
#else
  return Error(Code::kUnsupported, "device '" + name + "': this build has no CUDA backend");
#endif
}

}  // namespace plica
