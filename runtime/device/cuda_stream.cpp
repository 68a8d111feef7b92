#include "runtime/device/cuda_stream.h"

#include "runtime/device/cuda_status.h"

namespace plica {

Result<CudaEvent> CudaEvent::make(bool timing) {
  cudaEvent_t event = nullptr;
  PLICA_CHECK(cuda_status(cudaEventCreateWithFlags(&event, timing ? cudaEventDefault : cudaEventDisableTiming),
                          "creating an event"));
  return CudaEvent(event);
}

CudaEvent::~CudaEvent() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}

Status CudaEvent::record(cudaStream_t stream, bool in_graph) {
  const unsigned flags = in_graph ? cudaEventRecordExternal : cudaEventRecordDefault;
  return cuda_status(cudaEventRecordWithFlags(event_, stream, flags), "recording an event");
}

Status CudaEvent::synchronize() const { return cuda_status(cudaEventSynchronize(event_), "waiting for the device"); }

Result<float> CudaEvent::ms_since(const CudaEvent& start) const {
  float ms = 0;
  PLICA_CHECK(cuda_status(cudaEventElapsedTime(&ms, start.event_, event_), "reading the time between two events"));
  return ms;
}

Result<CudaStream> CudaStream::make() {
  cudaStream_t stream = nullptr;
  PLICA_CHECK(cuda_status(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream"));
  return CudaStream(stream);
}

CudaStream::~CudaStream() {
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

Status CudaStream::wait(const CudaEvent& event) {
  return cuda_status(cudaStreamWaitEvent(stream_, event.get(), 0), "ordering two streams");
}

Status CudaStream::synchronize() const { return cuda_status(cudaStreamSynchronize(stream_), "waiting for the device"); }

}  // namespace plica
