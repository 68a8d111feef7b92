#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "runtime/core/result.h"

namespace plica {

// A point in a stream's work. Without timing (cheaper) unless asked for.
class CudaEvent {
 public:
  static Result<CudaEvent> make(bool timing = false);
  CudaEvent(CudaEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  CudaEvent& operator=(CudaEvent&& other) noexcept { return std::swap(event_, other.event_), *this; }
  ~CudaEvent();

  // `in_graph`: while a graph is captured, so that each launch of it records the event.
  Status record(cudaStream_t stream, bool in_graph = false);
  Status synchronize() const;
  Result<float> ms_since(const CudaEvent& start) const;  // both made with timing, both reached
  cudaEvent_t get() const { return event_; }

 private:
  explicit CudaEvent(cudaEvent_t event) : event_(event) {}
  cudaEvent_t event_ = nullptr;
};

// A queue of device work, independent of the default stream. Belongs to the device that is current when it is made.
class CudaStream {
 public:
  static Result<CudaStream> make();
  CudaStream(CudaStream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  CudaStream& operator=(CudaStream&& other) noexcept { return std::swap(stream_, other.stream_), *this; }
  ~CudaStream();

  Status wait(const CudaEvent& event);  // work queued after this starts when the event is reached
  Status synchronize() const;
  cudaStream_t get() const { return stream_; }

 private:
  explicit CudaStream(cudaStream_t stream) : stream_(stream) {}
  cudaStream_t stream_ = nullptr;
};

}  // namespace plica
