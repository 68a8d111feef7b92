#include "tests/harness/cuda_mirror.h"

namespace plica {

std::string cuda_unavailable() { return "this build has no CUDA backend"; }

DeviceTraits cuda_device_traits() { return {}; }

struct CudaMirror::Parts {};
CudaMirror::CudaMirror() = default;
CudaMirror::~CudaMirror() = default;
void* CudaMirror::add(std::span<std::byte>, const void*) { return nullptr; }
std::string CudaMirror::run(const std::function<void(void* stream)>&) { return cuda_unavailable(); }

}  // namespace plica
