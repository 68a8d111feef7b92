#include "runtime/device/cuda_graph.h"

#include "runtime/device/cuda_copy.h"
#include "runtime/device/cuda_status.h"

namespace plica {
namespace {

using Nodes = std::vector<cudaGraphNode_t>;

// The functions that know of edges with data have names of their own before CUDA 13.
#if CUDART_VERSION >= 13000
constexpr auto kNodesBefore = &cudaGraphNodeGetDependencies;
constexpr auto kNodesBehind = &cudaGraphNodeGetDependentNodes;
constexpr auto kAddEdges = &cudaGraphAddDependencies;
#else
constexpr auto kNodesBefore = &cudaGraphNodeGetDependencies_v2;
constexpr auto kNodesBehind = &cudaGraphNodeGetDependentNodes_v2;
constexpr auto kAddEdges = &cudaGraphAddDependencies_v2;
#endif

// One list of nodes that belongs to a node or a graph, by its function of the runtime's interface.
template <class List>
Result<Nodes> listed(List&& list) {
  size_t count = 0;
  PLICA_CHECK(cuda_status(list(nullptr, &count), "counting nodes of a graph"));
  Nodes nodes(count);
  if (count > 0) PLICA_CHECK(cuda_status(list(nodes.data(), &count), "listing nodes of a graph"));
  return nodes;
}

Result<Nodes> nodes_of(cudaGraph_t graph) {
  return listed([&](cudaGraphNode_t* nodes, size_t* count) { return cudaGraphGetNodes(graph, nodes, count); });
}

// A kernel in the place of a memset of one row.
Status replace_clear(cudaGraph_t graph, cudaGraphNode_t clear, const cudaMemsetParams& params) {
  PLICA_TRY(const Nodes before,
            listed([&](cudaGraphNode_t* nodes, size_t* count) { return kNodesBefore(clear, nodes, nullptr, count); }));
  PLICA_TRY(const Nodes after,
            listed([&](cudaGraphNode_t* nodes, size_t* count) { return kNodesBehind(clear, nodes, nullptr, count); }));
  const FillKernel fill = fill_kernel();
  FillKernel::Arguments arguments{params.dst, params.value, params.elementSize, params.width};
  void* list[] = {&arguments};
  cudaKernelNodeParams kernel{};
  kernel.func = const_cast<void*>(fill.function);
  kernel.gridDim = dim3(static_cast<unsigned>((params.width + fill.block - 1) / fill.block));
  kernel.blockDim = dim3(fill.block);
  kernel.kernelParams = list;
  cudaGraphNode_t made = nullptr;
  PLICA_CHECK(
      cuda_status(cudaGraphAddKernelNode(&made, graph, before.data(), before.size(), &kernel), "adding a kernel"));
  const Nodes from(after.size(), made);
  PLICA_CHECK(
      cuda_status(kAddEdges(graph, from.data(), after.data(), nullptr, after.size()), "adding edges to a graph"));
  return cuda_status(cudaGraphDestroyNode(clear), "removing a memset from a graph");
}

// A graph of kernels alone is launched in a few microseconds of the host's time, one with memsets (libraries clear counters
// with them) in more than one each.
Status replace_clears(cudaGraph_t graph) {
  PLICA_TRY(const Nodes nodes, nodes_of(graph));
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    PLICA_CHECK(cuda_status(cudaGraphNodeGetType(node, &type), "looking at a node of a graph"));
    if (type != cudaGraphNodeTypeMemset) continue;
    cudaMemsetParams params{};
    PLICA_CHECK(cuda_status(cudaGraphMemsetNodeGetParams(node, &params), "looking at a memset of a graph"));
    if (params.height == 1 && params.width > 0) PLICA_CHECK(replace_clear(graph, node, params));
  }
  return {};
}

}  // namespace

Status CudaGraph::begin(cudaStream_t stream) {
  return cuda_status(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
}

Result<CudaGraph> CudaGraph::end(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  PLICA_CHECK(cuda_status(cudaStreamEndCapture(stream, &graph), "ending a capture"));
  cudaGraphExec_t exec = nullptr;
  Status status = replace_clears(graph);
  if (status) status = cuda_status(cudaGraphInstantiate(&exec, graph, 0), "making a graph of a capture");
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
  PLICA_TRY(const Nodes nodes, nodes_of(graph_));
  std::vector<cudaGraphNodeType> types(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i)
    PLICA_CHECK(cuda_status(cudaGraphNodeGetType(nodes[i], &types[i]), "looking at a node of a graph"));
  return types;
}

Status CudaGraph::launch(cudaStream_t stream) const {
  return cuda_status(cudaGraphLaunch(exec_, stream), "launching a graph");
}

}  // namespace plica
