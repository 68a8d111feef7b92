#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "runtime/core/result.h"

namespace plica {

// Work that was captured from a stream once and is launched with one call.
class CudaGraph {
 public:
  // Captures what `enqueue(stream)` queues, in thread-local mode: other threads stay free to call the runtime.
  // An Error of `enqueue` ends the capture and is returned.
  template <class Enqueue>
  static Result<CudaGraph> capture(cudaStream_t stream, Enqueue&& enqueue) {
    PLICA_CHECK(begin(stream));
    Status status = enqueue(stream);
    Result<CudaGraph> graph = end(stream);
    if (!status) return status.take_error();
    return graph;
  }

  CudaGraph(CudaGraph&& other) noexcept : exec_(std::exchange(other.exec_, nullptr)) {}
  CudaGraph& operator=(CudaGraph&& other) noexcept { return std::swap(exec_, other.exec_), *this; }
  ~CudaGraph();

  Status launch(cudaStream_t stream) const;

 private:
  explicit CudaGraph(cudaGraphExec_t exec) : exec_(exec) {}
  static Status begin(cudaStream_t stream);
  static Result<CudaGraph> end(cudaStream_t stream);
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace plica
