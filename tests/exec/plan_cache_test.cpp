#include "runtime/exec/plan_cache.h"

#include <gmock/gmock.h>

#include <thread>

#include "ops/transpose.h"

namespace plica {
namespace {

using testing::HasSubstr;

// x (any x any) transposed, and `order` whose values say how: specialising needs them.
class FakeModel {
 public:
  FakeModel() {
    source.inputs = {{"x", DType::kF32, true, {-1, -1}, {"", ""}}, {"order", DType::kI64, true, {2}, {""}}};
    source.outputs = {{"y", DType::kF32, true, {-1, -1}, {"", ""}}};
    source.specialise = [this](const Signature& signature) { return specialise(signature); };
  }

  Result<std::variant<Graph, NeedsValues>> specialise(const Signature& signature) {
    ++num_calls;
    if (fails) return Error(Code::kInvalidInput, "this model fails");
    if (!signature.values[1])
      return std::variant<Graph, NeedsValues>(
          NeedsValues{{1}, "node 't' (Transpose): its axes depend on input 'order'"});
    const auto* order = signature.values[1]->as<int64_t>();
    Graph graph;
    const ValueId x = graph.add_input("x", signature.inputs[0]);
    graph.add_input("order", signature.inputs[1]);
    PLICA_TRY(const NodeId node, graph.add_node(transpose_op, ops::Transpose{{order[0], order[1]}}, {x}, "t"));
    graph.add_output("y", graph.node(node).outputs[0]);
    return std::variant<Graph, NeedsValues>(std::move(graph));
  }

  Source source;
  std::atomic<int> num_calls = 0;
  bool fails = false;
};

struct Inputs {
  explicit Inputs(Shape shape, int64_t first = 1) : order{first, 1 - first} {
    x = *Tensor::zeros(DType::kF32, std::move(shape));
    views = {x.view(), {{DType::kI64, {2}, {}}, order}};
  }
  Tensor x;
  int64_t order[2];
  std::vector<TensorView> views;
};

class PlanCacheTest : public testing::Test {
 protected:
  std::shared_ptr<const Planned> get(const Inputs& inputs) { return *cache.get(inputs.views); }

  FakeModel model;
  ConstantStore constants;
  PlanCache cache{model.source, {}, constants, 2};
};

TEST_F(PlanCacheTest, AsksForValuesOnceAndThenLooksUp) {
  const Inputs inputs({2, 3});
  const auto planned = get(inputs);
  EXPECT_EQ(model.num_calls, 2);
  EXPECT_EQ(planned->plan->outputs[0].shape, (Shape{3, 2}));
  EXPECT_EQ(get(inputs), planned);
  EXPECT_EQ(model.num_calls, 2);
  get(Inputs({4, 5}));
  EXPECT_EQ(model.num_calls, 3);
}

TEST_F(PlanCacheTest, OtherValuesAreAnotherPlan) {
  const Inputs swapped({2, 3}, 1), kept({2, 3}, 0);
  const auto first = get(swapped);
  EXPECT_TRUE(first->fits(swapped.views));
  EXPECT_FALSE(first->fits(kept.views));
  EXPECT_EQ(get(kept)->plan->outputs[0].shape, (Shape{2, 3}));
  EXPECT_EQ(get(swapped), first);
  EXPECT_EQ(cache.num_made(), 2u);
}

TEST_F(PlanCacheTest, DropsTheLeastRecentlyUsed) {
  const Inputs a({1, 1}), b({2, 2}), c({3, 3});
  const auto kept = get(a);
  const auto dropped = get(b);
  EXPECT_EQ(get(a), kept);
  get(c);
  EXPECT_EQ(get(a), kept);
  EXPECT_EQ(cache.num_made(), 3u);
  EXPECT_NE(get(b), dropped);
  EXPECT_EQ(cache.num_made(), 4u);
}

TEST_F(PlanCacheTest, SaysWhyValuesAreNeeded) {
  Inputs inputs({2, 3});
  inputs.views[1].data = nullptr;
  const auto planned = cache.get(inputs.views);
  ASSERT_FALSE(planned);
  EXPECT_EQ(planned.error().code(), Code::kInvalidInput);
  EXPECT_THAT(planned.error().what(), HasSubstr("input 'order': its value is needed to plan: node 't' (Transpose)"));
}

TEST_F(PlanCacheTest, ErrorsAreNotKept) {
  model.fails = true;
  const Inputs inputs({2, 3});
  EXPECT_THAT(cache.get(inputs.views).error().what(), HasSubstr("this model fails"));
  model.fails = false;
  EXPECT_TRUE(cache.get(inputs.views));
}

TEST_F(PlanCacheTest, ThreadsShareOnePlanning) {
  std::vector<std::shared_ptr<const Planned>> planned(8);
  std::vector<std::thread> threads;
  for (auto& slot : planned) threads.emplace_back([&] { slot = get(Inputs({7, 9})); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& slot : planned) EXPECT_EQ(slot, planned[0]);
  EXPECT_EQ(cache.num_made(), 1u);
}

}  // namespace
}  // namespace plica
