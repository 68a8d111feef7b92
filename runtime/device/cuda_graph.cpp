#include "runtime/device/cuda_graph.h"

#include "runtime/device/cuda_status.h"

namespace plica {

Status CudaGraph::begin(cudaStream_t stream) {
  return cuda_status(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
}

Result<CudaGraph> CudaGraph::end(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  PLICA_CHECK(cuda_status(cudaStreamEndCapture(stream, &graph), "ending a capture"));
  cudaGraphExec_t exec = nullptr;
  const Status status = cuda_status(cudaGraphInstantiate(&exec, graph, 0), "making a graph of a capture");
  cudaGraphDestroy(graph);
  if (!status) return status.error();
  return CudaGraph(exec);
}

CudaGraph::~CudaGraph() {
  if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
}

Status CudaGraph::launch(cudaStream_t stream) const {
  return cuda_status(cudaGraphLaunch(exec_, stream), "launching a graph");
}

}  // namespace plica
