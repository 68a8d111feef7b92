#include "tests/harness/cuda_mirror.h"

#include <vector>

#include "runtime/device/cuda_device.h"
#include "runtime/device/cuda_memory.h"
#include "runtime/device/cuda_status.h"
#include "runtime/device/cuda_stream.h"

namespace plica {
namespace {

constexpr size_t kAlignment = 256;

struct Buffer {
  std::span<std::byte> host;
  std::shared_ptr<void> memory;
  std::byte* device;
};

Status copy(void* to, const void* from, size_t bytes, cudaStream_t stream) {
  PLICA_CHECK(cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "copying a buffer"));
  return cuda_status(cudaStreamSynchronize(stream), "copying a buffer");
}

}  // namespace

std::string cuda_unavailable() { return num_cuda_devices() > 0 ? "" : "there is no GPU"; }

DeviceTraits cuda_device_traits() {
  const Result<DeviceTraits> traits = cuda_traits(0);
  return traits ? *traits : DeviceTraits{};
}

struct CudaMirror::Parts {
  Result<CudaStream> stream = CudaStream::make();
  std::vector<Buffer> buffers;
  Status status;
};

CudaMirror::CudaMirror() : parts_(std::make_unique<Parts>()) {}
CudaMirror::~CudaMirror() = default;

void* CudaMirror::add(std::span<std::byte> host, const void* inside) {
  Parts& p = *parts_;
  auto memory = device_memory(host.size() + 2 * kAlignment);
  if (!p.stream || !memory) {
    p.status = !p.stream ? p.stream.error() : memory.error();
    return nullptr;
  }
  const size_t past = reinterpret_cast<uintptr_t>(host.data()) % kAlignment;
  Buffer buffer{host, *memory, static_cast<std::byte*>(memory->get()) + past};
  if (Status status = copy(buffer.device, host.data(), host.size(), p.stream->get()); !status) p.status = status;
  p.buffers.push_back(buffer);
  return buffer.device + (static_cast<const std::byte*>(inside) - host.data());
}

std::string CudaMirror::run(const std::function<void(void* stream)>& enqueue) {
  Parts& p = *parts_;
  if (!p.status) return p.status.error().what();
  cudaGetLastError();
  enqueue(p.stream->get());
  if (const Status status = launch_status("launching"); !status) return status.error().what();
  if (const Status status = p.stream->synchronize(); !status) return status.error().what();
  for (const Buffer& buffer : p.buffers)
    if (const Status status = copy(buffer.host.data(), buffer.device, buffer.host.size(), p.stream->get()); !status)
      return status.error().what();
  return "";
}

}  // namespace plica
