#include "tools/embedder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/program.h"

namespace plica {
namespace {

using testing::HasSubstr;

class EmbedderTest : public testing::Test {
 protected:
  void SetUp() override { save(language_model(), folder_ / "esm2.onnx"); }

  Embedder embedder(size_t memory_limit_bytes = 0, BatchLimits limits = {}) {
    EmbedderOptions options;
    options.family.model_path = folder_ / "esm2.onnx";
    options.load.num_threads = 1;
    options.load.memory_limit_bytes = memory_limit_bytes;
    options.limits = limits;
    options.poolings = {Pooling::kMean};
    auto made = Embedder::create(std::move(options));
    EXPECT_TRUE(made) << to_string(made.error());
    return *std::move(made);
  }

  static std::vector<QueuedRecord> records(const Embedder& embedder, std::initializer_list<int> lengths) {
    std::vector<QueuedRecord> queue;
    for (const int length : lengths)
      queue.push_back(embedder.queue(std::string(static_cast<size_t>(length), 'A'), UnknownPolicy::kX));
    return queue;
  }

  TempFolder folder_;
  std::atomic<bool> stop_ = false;
};

constexpr auto kNoTick = [](int64_t, int64_t) {};

TEST_F(EmbedderTest, ABatchOverTheMemoryLimitIsSplit) {
  Embedder whole = embedder(), split = embedder(12000);
  auto wanted = records(whole, {10, 12, 9, 14, 11, 13, 10, 12}), found = wanted;
  ASSERT_TRUE(whole.run(wanted, stop_, kNoTick));
  ASSERT_TRUE(split.run(found, stop_, kNoTick));
  EXPECT_EQ(whole.totals().num_batches, 1);
  EXPECT_GT(split.totals().num_batches, 1);
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_TRUE(found[i].done) << *found[i].out.failed;
    for (size_t c = 0; c < 4; ++c) EXPECT_NEAR(found[i].out.vectors[0][c], wanted[i].out.vectors[0][c], 1e-4);
  }
}

TEST_F(EmbedderTest, ARecordOverTheMemoryLimitFailsAlone) {
  Embedder limited = embedder(11700);
  auto queue = records(limited, {4, 37, 4, 5});
  ASSERT_TRUE(limited.run(queue, stop_, kNoTick));
  EXPECT_FALSE(queue[1].done);
  EXPECT_THAT(*queue[1].out.failed, HasSubstr("out of memory: the arena needs"));
  EXPECT_THAT(*queue[1].out.failed, HasSubstr("the memory limit is 11700"));
  for (const size_t i : {0u, 2u, 3u}) EXPECT_TRUE(queue[i].done) << i;
}

TEST_F(EmbedderTest, StopsBetweenTwoBatches) {
  Embedder one_by_one = embedder(0, {.max_tokens = 4096, .max_records = 2});
  auto queue = records(one_by_one, {6, 6, 6, 6, 6});
  ASSERT_TRUE(one_by_one.run(queue, stop_, [&](int64_t, int64_t) { stop_ = true; }));
  int64_t num_done = 0;
  for (const QueuedRecord& record : queue) {
    num_done += record.done ? 1 : 0;
    EXPECT_FALSE(record.out.failed);
  }
  EXPECT_EQ(num_done, 2);
  EXPECT_EQ(one_by_one.totals().num_batches, 1);
}

TEST_F(EmbedderTest, OutputsThatNobodyTakesAreNotComputed) {
  onnx::proto::ModelProto model = language_model();
  auto& graph = *model.mutable_graph();
  onnx::set_type(*graph.add_output(), "logits", {-1, -1, 4});
  *graph.add_initializer() = onnx::raw_tensor<int64_t>("far", onnx::proto::TensorProto::INT64, {}, {1000});
  onnx::add_node(graph, "Add", {"input_ids", "far"}, {"far_ids"});
  onnx::add_node(graph, "Gather", {"tokens", "far_ids"}, {"logits"});  // every index is outside
  save(model, folder_ / "esm2.onnx");
  Embedder chosen = embedder();
  EXPECT_EQ(chosen.family().output_name, "last_hidden_state");
  auto queue = records(chosen, {5});
  ASSERT_TRUE(chosen.run(queue, stop_, kNoTick));
  EXPECT_TRUE(queue[0].done) << *queue[0].out.failed;
}

}  // namespace
}  // namespace plica
