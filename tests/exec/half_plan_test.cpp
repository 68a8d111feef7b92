#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/exec/run_plan.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

// A norm, a product with activation and residual, a softmax and a mean in a type of 16 bits.
std::string layer(const std::string& dtype) {
  std::string text = R"(
      input x: half 5x16
      constant gamma: half 16
      constant w: half 16x16
      h = Mul(x, 0.0625)
      n = LayerNorm(h, gamma)
      y = Add(Gelu(MatMul(n, w, _, _, _)), h)
      p = Softmax(y)
      m = Reduce(p) {kind="mean", axes=[0]}
      output y
      output m
  )";
  for (size_t at; (at = text.find("half")) != std::string::npos;) text.replace(at, 4, dtype);
  return text;
}

class HalfPlan : public testing::Test {
 protected:
  void SetUp() override {
    if (!tests_the_cpu()) GTEST_SKIP() << "of the CPU's kernels";
  }
};

TEST_F(HalfPlan, TakesTheKernelsOfF32) {
  for (const std::string dtype : {"f16", "bf16"}) {
    const auto plan = plan_of(graph_of(layer(dtype))), plain = plan_of(graph_of(layer(dtype)), {.reference = true});
    EXPECT_EQ(steps_of(*plan).find(".ref"), std::string::npos) << steps_of(*plan);
    EXPECT_EQ(plan->outputs, plain->outputs);
    const std::vector<Tensor> found = run_plan(*plan), wanted = run_plan(*plain);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const std::vector<double> a = values_of(found[i]), b = values_of(wanted[i]);
      for (size_t j = 0; j < b.size(); ++j) ASSERT_NEAR(a[j], b[j], 0.03 * (1 + std::abs(b[j]))) << dtype << " " << j;
    }
  }
}

TEST_F(HalfPlan, RoundsBetweenOperators) {
  const auto plan = plan_of(graph_of("input x: f16 4\ny = Sub(Add(x, 2048), 2048)\noutput y\n"));
  EXPECT_EQ(steps_of(*plan), "Map.blocks");
  EXPECT_THAT(values_of(run_plan(*plan)[0]), testing::ElementsAre(0, 0, 2, 4));
}

}  // namespace
}  // namespace plica
