#include "runtime/device/cuda_queue.h"

#include <algorithm>
#include <vector>

#include "runtime/device/cuda_arena.h"
#include "runtime/device/cuda_copy.h"
#include "runtime/device/cuda_device.h"
#include "runtime/device/cuda_graph.h"
#include "runtime/device/cuda_memory.h"
#include "runtime/device/cuda_status.h"
#include "runtime/device/cuda_stream.h"

namespace plica {
namespace {

constexpr size_t kMostByKernel = 65536;  // bytes; above, copy engines are faster

// Whether kernels reach both: memory of a device, or pinned memory of the host.
bool reads_both(const void* to, const void* from) {
  for (const void* memory : {to, from}) {
    cudaPointerAttributes attributes{};
    if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess || attributes.type == cudaMemoryTypeUnregistered ||
        attributes.devicePointer != memory) {
      cudaGetLastError();
      return false;
    }
  }
  return true;
}

class CapturedGraph final : public DeviceGraph {
 public:
  explicit CapturedGraph(CudaGraph graph) : graph_(std::move(graph)) {}

  Status change_copy(void* copy, void* to, const void* from, size_t bytes) override {
    return graph_.change_copy(static_cast<cudaGraphNode_t>(copy), to, from, bytes);
  }
  Result<GraphNodes> nodes() const override {
    PLICA_TRY(const std::vector<cudaGraphNodeType> types, graph_.node_types());
    GraphNodes nodes;
    for (const cudaGraphNodeType type : types) {
      int& count = type == cudaGraphNodeTypeKernel   ? nodes.kernels
                   : type == cudaGraphNodeTypeMemcpy ? nodes.copies
                   : type == cudaGraphNodeTypeMemset ? nodes.clears
                                                     : nodes.others;
      ++count;
    }
    return nodes;
  }
  Status launch(cudaStream_t stream) const { return graph_.launch(stream); }

 private:
  CudaGraph graph_;
};

class CudaQueue final : public DeviceQueue {
 public:
  CudaQueue(int ordinal, CudaStream own, CudaEvent order)
      : ordinal_(ordinal), own_(std::move(own)), order_(std::move(order)), arena_(ordinal), stream_(own_.get()) {}
  ~CudaQueue() override {
    const CudaDeviceScope scope(ordinal_);
    cudaStreamSynchronize(stream_);
    marks_.clear();
  }

  Status grow_arena(size_t bytes) override { return arena_.grow(bytes); }
  size_t arena_bytes() const override { return arena_.num_bytes(); }
  std::byte* arena() const override { return arena_.base(); }
  Result<std::shared_ptr<void>> memory(size_t bytes) override { return device_memory(bytes); }
  Result<std::shared_ptr<void>> pinned_memory(size_t bytes) override { return plica::pinned_memory(bytes); }

  Status set_stream(void* stream) override {
    auto* const next = stream != nullptr ? static_cast<cudaStream_t>(stream) : own_.get();
    if (next == stream_) return {};
    PLICA_CHECK(order_.record(stream_));
    PLICA_CHECK(cuda_status(cudaStreamWaitEvent(next, order_.get(), 0), "ordering two streams"));
    stream_ = next;
    return {};
  }
  void* stream() const override { return capturing_ ? own_.get() : stream_; }

  Status copy(void* to, const void* from, size_t bytes, void** node) override {
    auto* const queue = static_cast<cudaStream_t>(stream());
    if (node == nullptr && bytes <= kMostByKernel && reads_both(to, from)) {
      copy_by_kernel(to, from, bytes, queue);
      return plica::launch_status("queueing a copy");
    }
    PLICA_CHECK(cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, queue), "queueing a copy"));
    if (node == nullptr || !capturing_) return {};
    PLICA_TRY(const std::vector<cudaGraphNode_t> nodes, captured_last(queue));
    if (nodes.size() != 1) return Error(Code::kInternal, "a captured copy is not the last of its stream");
    *node = nodes[0];
    return {};
  }

  Status clear(void* memory, size_t bytes) override {
    return cuda_status(cudaMemsetAsync(memory, 0, bytes, static_cast<cudaStream_t>(stream())), "clearing memory");
  }

  Status launch_status(std::string_view doing) override { return plica::launch_status(doing); }

  Result<std::unique_ptr<DeviceGraph>> capture(const std::function<Status()>& enqueue) override {
    capturing_ = true;
    points_.clear();
    Result<CudaGraph> graph = CudaGraph::capture(own_.get(), [&](cudaStream_t) { return enqueue(); });
    capturing_ = false;
    if (!graph) return graph.take_error();
    return std::unique_ptr<DeviceGraph>(std::make_unique<CapturedGraph>(*std::move(graph)));
  }

  Status launch(const DeviceGraph& graph) override { return static_cast<const CapturedGraph&>(graph).launch(stream_); }

  Result<size_t> point() override {
    if (!capturing_) return size_t{0};
    PLICA_TRY(std::vector<cudaGraphNode_t> nodes, captured_last(own_.get()));
    points_.push_back(std::move(nodes));
    return points_.size() - 1;
  }

  Status continue_after(std::span<const size_t> points) override {
    if (!capturing_) return {};
    std::vector<cudaGraphNode_t> nodes;
    for (const size_t point : points)
      for (const cudaGraphNode_t node : points_[point])
        if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
#if CUDART_VERSION >= 13000
    const cudaError_t result = cudaStreamUpdateCaptureDependencies(own_.get(), nodes.data(), nullptr, nodes.size(),
                                                                   cudaStreamSetCaptureDependencies);
#else
    const cudaError_t result =
        cudaStreamUpdateCaptureDependencies(own_.get(), nodes.data(), nodes.size(), cudaStreamSetCaptureDependencies);
#endif
    return cuda_status(result, "ordering what is captured");
  }

  Status mark(size_t number) override {
    while (marks_.size() <= number) {
      PLICA_TRY(CudaEvent event, CudaEvent::make(true));
      marks_.push_back(std::move(event));
    }
    return marks_[number].record(static_cast<cudaStream_t>(stream()), capturing_);
  }

  Result<double> ms_between(size_t from, size_t to) override {
    PLICA_TRY(const float ms, marks_[to].ms_since(marks_[from]));
    return static_cast<double>(ms);
  }

  Status synchronize() override { return cuda_status(cudaStreamSynchronize(stream_), "waiting for the device"); }

 private:
  // What the next captured work will wait for.
  static Result<std::vector<cudaGraphNode_t>> captured_last(cudaStream_t stream) {
    cudaStreamCaptureStatus status{};
    const cudaGraphNode_t* nodes = nullptr;
    size_t num_nodes = 0;
#if CUDART_VERSION >= 13000
    const cudaError_t result = cudaStreamGetCaptureInfo(stream, &status, nullptr, nullptr, &nodes, nullptr, &num_nodes);
#else
    const cudaError_t result = cudaStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr, &nodes, &num_nodes);
#endif
    PLICA_CHECK(cuda_status(result, "looking at a capture"));
    return std::vector<cudaGraphNode_t>(nodes, nodes + num_nodes);
  }

  const int ordinal_;
  CudaStream own_;
  CudaEvent order_;
  CudaArena arena_;
  cudaStream_t stream_;
  bool capturing_ = false;
  std::vector<CudaEvent> marks_;
  std::vector<std::vector<cudaGraphNode_t>> points_;
};

}  // namespace

Result<std::unique_ptr<DeviceQueue>> make_cuda_queue(int ordinal) {
  const CudaDeviceScope scope(ordinal);
  PLICA_TRY(CudaStream own, CudaStream::make());
  PLICA_TRY(CudaEvent order, CudaEvent::make());
  return std::unique_ptr<DeviceQueue>(std::make_unique<CudaQueue>(ordinal, std::move(own), std::move(order)));
}

}  // namespace plica
