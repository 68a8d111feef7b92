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
  if (status) return CudaGraph(graph, exec);
  cudaGraphDestroy(graph);
  return status.error();
}

CudaGraph::~CudaGraph() {
  if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
  if (graph_ != nullptr) cudaGraphDestroy(graph_);
}

Status CudaGraph::change_copy(cudaGraphNode_t copy, void* to, const void* from, size_t bytes) {
  return cuda_status(cudaGraphExecMemcpyNodeSetParams1D(exec_, copy, to, from, bytes, cudaMemcpyDefault),
                     "changing a copy of a graph");
}

Result<std::vector<cudaGraphNodeType>> CudaGraph::node_types() const {
  size_t num_nodes = 0;
  PLICA_CHECK(cuda_status(cudaGraphGetNodes(graph_, nullptr, &num_nodes), "counting the nodes of a graph"));
  std::vector<cudaGraphNode_t> nodes(num_nodes);
  PLICA_CHECK(cuda_status(cudaGraphGetNodes(graph_, nodes.data(), &num_nodes), "listing the nodes of a graph"));
  std::vector<cudaGraphNodeType> types(num_nodes);
  for (size_t i = 0; i < num_nodes; ++i)
    PLICA_CHECK(cuda_status(cudaGraphNodeGetType(nodes[i], &types[i]), "looking at a node of a graph"));
  return types;
}

Status CudaGraph::launch(cudaStream_t stream) const {
  return cuda_status(cudaGraphLaunch(exec_, stream), "launching a graph");
}

}  // namespace plica
