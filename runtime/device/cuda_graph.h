#pragma once

#include <cuda_runtime_api.h>

#include <utility>
#include <vector>

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

  CudaGraph(CudaGraph&& other) noexcept
      : graph_(std::exchange(other.graph_, nullptr)), exec_(std::exchange(other.exec_, nullptr)) {}
  CudaGraph& operator=(CudaGraph&& other) noexcept {
    std::swap(graph_, other.graph_);
    std::swap(exec_, other.exec_);
    return *this;
  }
  ~CudaGraph();

  Status launch(cudaStream_t stream) const;
  Result<std::vector<cudaGraphNodeType>> node_types() const;

  // What a captured copy does in later launches: memory of the same kinds as before, on the same devices.
  Status change_copy(cudaGraphNode_t copy, void* to, const void* from, size_t bytes);

 private:
  CudaGraph(cudaGraph_t graph, cudaGraphExec_t exec) : graph_(graph), exec_(exec) {}
  static Status begin(cudaStream_t stream);
  static Result<CudaGraph> end(cudaStream_t stream);
  cudaGraph_t graph_ = nullptr;  // its nodes name those of exec_
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace plica
