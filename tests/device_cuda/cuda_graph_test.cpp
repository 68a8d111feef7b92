#include "runtime/device/cuda_graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/device/cuda_device.h"
#include "runtime/device/cuda_memory.h"
#include "runtime/device/cuda_status.h"
#include "runtime/device/cuda_stream.h"

namespace plica {
namespace {

class CudaGraphTest : public testing::Test {
 protected:
  void SetUp() override {
    if (num_cuda_devices() == 0) GTEST_SKIP() << "there is no GPU";
  }
};

TEST_F(CudaGraphTest, ReplaysWhatWasCaptured) {
  auto stream = CudaStream::make();
  ASSERT_TRUE(stream);
  const auto device = device_memory(64), host = pinned_memory(64);
  ASSERT_TRUE(device && host);
  auto graph = CudaGraph::capture(stream->get(), [&](cudaStream_t s) -> Status {
    PLICA_CHECK(cuda_status(cudaMemsetAsync(device->get(), 7, 64, s), "setting"));
    return cuda_status(cudaMemcpyAsync(host->get(), device->get(), 64, cudaMemcpyDefault, s), "copying");
  });
  ASSERT_TRUE(graph) << to_string(graph.error());
  auto* bytes = static_cast<unsigned char*>(host->get());
  for (int i = 0; i < 2; ++i) {
    bytes[63] = 0;
    ASSERT_TRUE(graph->launch(stream->get()));
    ASSERT_TRUE(stream->synchronize());
    EXPECT_EQ(bytes[63], 7);
  }
}

TEST_F(CudaGraphTest, ClearsAreDoneByKernelsInTheirPlace) {
  auto stream = CudaStream::make();
  ASSERT_TRUE(stream);
  const auto first = device_memory(3000), second = device_memory(3000), host = pinned_memory(3000);
  ASSERT_TRUE(first && second && host);
  auto graph = CudaGraph::capture(stream->get(), [&](cudaStream_t s) -> Status {
    PLICA_CHECK(cuda_status(cudaMemsetAsync(first->get(), 3, 3000, s), "setting"));
    PLICA_CHECK(cuda_status(cudaMemcpyAsync(second->get(), first->get(), 3000, cudaMemcpyDefault, s), "copying"));
    PLICA_CHECK(cuda_status(cudaMemsetAsync(first->get(), 5, 2999, s), "setting"));
    PLICA_CHECK(cuda_status(cudaMemsetAsync(second->get(), 9, 1, s), "setting"));
    PLICA_CHECK(cuda_status(cudaMemcpyAsync(host->get(), second->get(), 1500, cudaMemcpyDefault, s), "copying"));
    return cuda_status(cudaMemcpyAsync(static_cast<char*>(host->get()) + 1500, static_cast<char*>(first->get()) + 1500,
                                       1500, cudaMemcpyDefault, s),
                       "copying");
  });
  ASSERT_TRUE(graph) << to_string(graph.error());
  const auto types = graph->node_types();
  ASSERT_TRUE(types);
  EXPECT_EQ(std::count(types->begin(), types->end(), cudaGraphNodeTypeMemset), 0);
  EXPECT_EQ(std::count(types->begin(), types->end(), cudaGraphNodeTypeKernel), 3);
  ASSERT_TRUE(graph->launch(stream->get()));
  ASSERT_TRUE(stream->synchronize());
  const auto* bytes = static_cast<const unsigned char*>(host->get());
  EXPECT_EQ(bytes[0], 9);
  EXPECT_EQ(bytes[1], 3);
  EXPECT_EQ(bytes[1499], 3);
  EXPECT_EQ(bytes[1500], 5);
  EXPECT_EQ(bytes[2998], 5);
  EXPECT_EQ(bytes[2999], 3);
}

TEST_F(CudaGraphTest, AnErrorEndsTheCapture) {
  auto stream = CudaStream::make();
  ASSERT_TRUE(stream);
  const auto graph = CudaGraph::capture(
      stream->get(), [](cudaStream_t) -> Status { return Error(Code::kInternal, "a step that fails"); });
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().what(), "a step that fails");
  EXPECT_TRUE(stream->synchronize());
}

TEST_F(CudaGraphTest, EventsOrderAndTime) {
  auto stream = CudaStream::make(), other = CudaStream::make();
  auto start = CudaEvent::make(true), end = CudaEvent::make(true);
  ASSERT_TRUE(stream && other && start && end);
  ASSERT_TRUE(start->record(stream->get()));
  ASSERT_TRUE(other->wait(*start));
  ASSERT_TRUE(end->record(other->get()));
  ASSERT_TRUE(end->synchronize());
  const auto ms = end->ms_since(*start);
  ASSERT_TRUE(ms);
  EXPECT_GE(*ms, 0);
}

}  // namespace
}  // namespace plica
