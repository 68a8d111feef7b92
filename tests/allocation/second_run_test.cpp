#include <gtest/gtest.h>

#include "plica/session.h"
#include "runtime/api/model_state.h"
#include "runtime/api/session_state.h"
#include "tests/harness/counted_malloc.h"
#include "tests/harness/test_device.h"
#include "tests/harness/transformer_layer.h"

namespace plica {
namespace {

class SecondRun : public testing::TestWithParam<int> {};

TEST_P(SecondRun, AllocatesNothing) {
  if (!counts_allocations()) GTEST_SKIP() << "a sanitizer has taken over malloc";
  auto model = Model::State::make(text_source(kTransformerLayer), {.device = test_device(), .num_threads = GetParam()});
  ASSERT_TRUE(model) << to_string(model.error());
  Session session = *model->session();
  Tensor ids = *Tensor::zeros(DType::kI64, {2, 9}), mask = *Tensor::zeros(DType::kBool, {2, 1, 1, 9});
  Tensor more_ids = *Tensor::zeros(DType::kI64, {2, 9});
  for (int64_t i = 0; i < 18; ++i) mask.as<bool>()[i] = i % 5 != 0;
  const TensorView tokens = ids.view(), other_tokens = more_ids.view(), kept = mask.view();
  const auto run = [&](const TensorView& view) {
    return session.bind(0, view) && session.bind(1, kept) && session.run();
  };
  for (int i = tests_the_cpu() ? 1 : 2; i > 0; --i)  // on a GPU the second makes the graph
    if (!run(tokens)) FAIL() << to_string(session.run().error());
  const int64_t before = num_allocations();
  const bool same_memory = run(tokens), other_memory = run(other_tokens);
  EXPECT_EQ(num_allocations() - before, 0);
  EXPECT_TRUE(same_memory && other_memory);
}

TEST_P(SecondRun, OfReferenceKernelsAllocatesNothing) {
  if (!counts_allocations()) GTEST_SKIP() << "a sanitizer has taken over malloc";
  PlanOptions options{.reference = true};
  options.device.num_threads = GetParam();
  const auto model =
      std::make_shared<Model::State>(text_source(kTransformerLayer), LoadOptions{}, options, LoadStats{});
  Session::State session(model, *make_runner(model->context));
  const Tensor ids = *Tensor::zeros(DType::kI64, {2, 9}), mask = *Tensor::zeros(DType::kBool, {2, 1, 1, 9});
  ASSERT_TRUE(session.bind(0, ids.view()) && session.bind(1, mask.view()));
  ASSERT_TRUE(session.run());
  for (const Step& step : session.planned->plan->steps) EXPECT_EQ(step.kernel->name, "ref");
  const int64_t before = num_allocations();
  const bool ran = session.run().operator bool();
  EXPECT_EQ(num_allocations() - before, 0);
  EXPECT_TRUE(ran);
}

INSTANTIATE_TEST_SUITE_P(Threads, SecondRun, testing::Values(1, 2));

TEST(CountedMalloc, Counts) {
  if (!counts_allocations()) GTEST_SKIP() << "a sanitizer has taken over malloc";
  const int64_t before = num_allocations();
  char* volatile memory = new char[1000];
  delete[] memory;
  EXPECT_EQ(num_allocations() - before, 1);
}

}  // namespace
}  // namespace plica
