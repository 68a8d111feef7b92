#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

#include "ops/cuda/product_normed.h"
#include "ops/element.h"
#include "runtime/core/dtype.h"
#include "runtime/exec/plan_runner.h"
#include "tests/exec/run_plan.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

using testing::SizeIs;

constexpr int64_t kRows = 512, kWidth = 64, kColumns = 3200;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Rows of bf16 that are given as they are. `norm` has no factors.
std::string text_of(const std::string& norm = "LayerNorm") {
  return "input x0: f32 512x64\nconstant w: bf16 64x3200\nconstant b: bf16 3200\nx = Cast(x0) {to=bf16}\n"
         "y = MatMul(" +
         norm + "(x) {eps=0.001}, w, b)\nz = Mul(y, 0.5)\noutput z\n";
}

// Each row has another mean and size.
Tensor rows_of_all_kinds() {
  Tensor x = *Tensor::zeros(DType::kF32, {kRows, kWidth});
  for (int64_t i = 0; i < kRows * kWidth; ++i) {
    const auto row = static_cast<double>(i / kWidth), at = static_cast<double>(i);
    x.as<float>()[i] = static_cast<float>(20 * std::sin(1.3 * row) + std::sin(0.7 * at) * (1 + std::sin(row)));
  }
  return x;
}

std::vector<double> values_with(const std::shared_ptr<const Plan>& plan, const Tensor& x) {
  auto outputs = run_on_test_device(plan, {x});
  EXPECT_TRUE(outputs) << to_string(outputs.error());
  return values_of(outputs->at(0));
}

// The run kernel, with a block that waits for no other.
template <int kPatience>
std::shared_ptr<const Plan> with_patience(const Plan& plan) {
  static const RunKernel kernel = [] {
    RunKernel same = cuda::normed_product;
    same.run = [](const RunArgs& args) { cuda::run_normed_product(args, kPatience); };
    return same;
  }();
  auto impatient = std::make_shared<Plan>(plan);
  impatient->runs[0].kernel = &kernel;
  return impatient;
}

class NormedProductOnCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
    if (test_context()->traits().compute_capability / 10 != 9) GTEST_SKIP() << "not of compute capability 9";
  }
};

TEST_F(NormedProductOnCuda, BlocksThatWaitForNoOtherFindTheSame) {
  const auto plan = plan_of(graph_of(text_of()));
  ASSERT_THAT(plan->runs, SizeIs(1)) << plan->to_text();
  const Tensor x = rows_of_all_kinds();
  const std::vector<double> wanted = values_with(plan, x);
  EXPECT_EQ(values_with(with_patience<0>(*plan), x), wanted);
  EXPECT_EQ(values_with(with_patience<3>(*plan), x), wanted);
  EXPECT_EQ(values_with(with_patience<20>(*plan), x), wanted);
}

// One session after the other on a thread, and threads beside each other: blocks of two launches share the device, and each session
// counts for itself, run after run.
TEST_F(NormedProductOnCuda, SessionsSideBySideFindTheSame) {
  const auto patient = plan_of(graph_of(text_of()));
  ASSERT_THAT(patient->runs, SizeIs(1)) << patient->to_text();
  const std::shared_ptr<const Plan> plans[] = {patient, with_patience<0>(*patient), patient,
                                               with_patience<3>(*patient)};
  const Tensor x = rows_of_all_kinds();
  const std::vector<double> wanted = values_with(patient, x);
  std::vector<std::thread> threads;
  for (const auto& plan : plans)
    threads.emplace_back([&wanted, &x, plan] {
      auto runner = make_runner(test_context());
      ASSERT_TRUE(runner && (*runner)->prepare(plan) && (*runner)->bind_input(0, x.data()));
      for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE((*runner)->run());
        Tensor found = *Tensor::zeros(plan->outputs[0].dtype, plan->outputs[0].shape);
        std::memcpy(found.data(), (*runner)->output(0), found.num_bytes());
        ASSERT_EQ(values_of(found), wanted) << "run " << i;
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// Rows whose squares are beyond f32, where the product's sums are not; and rows that hold what is no number.
TEST_F(NormedProductOnCuda, LargeRowsAreTheBiasAndNoNumbersStayNone) {
  for (const std::string norm : {"LayerNorm", "RmsNorm"}) {
    const auto plan = plan_of(graph_of(text_of(norm)));
    const auto alone = plan_of(graph_of(text_of(norm)), {.skip_passes = {"runs"}});
    ASSERT_THAT(plan->runs, SizeIs(1)) << plan->to_text();
    Tensor x = rows_of_all_kinds();
    const auto fill = [&](int64_t row, auto value_at) {
      for (int64_t i = 0; i < kWidth; ++i) x.as<float>()[row * kWidth + i] = value_at(i);
    };
    fill(3, [](int64_t i) { return i % 2 == 0 ? 2e36f : -2e36f; });
    fill(130, [](int64_t i) { return i % 2 == 0 ? 1e25f : -3e24f; });
    fill(131, [](int64_t) { return 4e36f; });
    fill(140, [](int64_t i) { return i == 17 ? kInfinity : 1.0f; });
    fill(141, [](int64_t i) { return i == 63 ? -kInfinity : 1e37f; });
    fill(300, [](int64_t i) { return i == 40 ? NAN : static_cast<float>(i); });
    fill(301, [](int64_t i) { return i % 2 == 0 ? kInfinity : -kInfinity; });
    const std::vector<double> found = values_with(plan, x), wanted = values_with(alone, x);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const std::string where = norm + ", row " + std::to_string(i / kColumns);
      ASSERT_EQ(std::isnan(found[i]), std::isnan(wanted[i])) << where;
      if (std::isnan(wanted[i])) continue;
      ASSERT_NEAR(found[i], wanted[i], 0.03 * (1 + std::abs(wanted[i]))) << where;
    }
  }
}

}  // namespace
}  // namespace plica
