#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "runtime/device/traits.h"

namespace plica {

// Why kernels for CUDA cannot run in this process ("this build has no CUDA backend", "there is no GPU"), or empty.
std::string cuda_unavailable();

DeviceTraits cuda_device_traits();  // of device 0

// Copies of host buffers on the device: the host prepares and judges what a kernel on the device works on.
class CudaMirror {
 public:
  CudaMirror();
  ~CudaMirror();

  // Uploads `host`, guards and all, to an address of the same alignment; returns where its byte `inside` is.
  void* add(std::span<std::byte> host, const void* inside);

  // Calls `enqueue(stream)`, waits, and copies every buffer back. What went wrong on the device, or empty.
  std::string run(const std::function<void(void* stream)>& enqueue);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace plica
