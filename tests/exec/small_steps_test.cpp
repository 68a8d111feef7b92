#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "ops/step_run.h"
#include "tests/exec/run_plan.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

using testing::SizeIs;

// Token dropout as ESM-2 has it, of `length` tokens in `batch` rows.
std::string dropout(int batch, int length) {
  const std::string shape = std::to_string(batch) + "x" + std::to_string(length);
  return "input ids: i64 " + shape + "\ninput mask: i64 " + shape +
         "\nn = Reduce(Cast(Equal(Sub(ids, 3), 32)) {to=i64}) {axes=[1]}\nm = Reduce(mask) {axes=[1]}\n"
         "f = Sub(1, Div(Cast(n) {to=f32}, Cast(m) {to=f32}))\n"
         "y = Softmax(Mul(Cast(mask) {to=f32}, f))\noutput y\n";
}

void expect_same(const std::string& text, size_t num_steps) {
  const auto plan = plan_of(graph_of(text)), alone = plan_of(graph_of(text), {.skip_passes = {"runs"}});
  ASSERT_THAT(plan->runs, SizeIs(1)) << plan->to_text();
  EXPECT_EQ(plan->runs[0].kernel->name, "small");
  EXPECT_GE(plan->runs[0].count, num_steps) << plan->to_text();
  ASSERT_THAT(alone->runs, SizeIs(0));
  const std::vector<Tensor> found = run_plan(*plan), wanted = run_plan(*alone);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const std::vector<double> a = values_of(found[i]), b = values_of(wanted[i]);
    for (size_t k = 0; k < b.size(); ++k)
      ASSERT_TRUE(a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]))) << i << " " << k << "\n" << text;
  }
}

TEST(SmallSteps, AreAsTheyAreAlone) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  for (const auto& [batch, length] : {std::pair{1, 128}, {5, 2}, {3, 33}, {7, 100}, {1, 1000}})
    expect_same(dropout(batch, length), 4);
}

TEST(SmallSteps, ReduceAllTypes) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  for (const std::string type : {"f32", "f16", "bf16", "f64", "i64", "i32", "u8", "i8"})
    for (const std::string kind : {"sum", "max", "min"})
      expect_same("input x0: f32 3x5x67\nx = Cast(Sub(Mul(x0, 0.25), 3)) {to=" + type +
                      "}\ny = Reduce(x) {kind=" + kind + ", axes=[0,2]}\nz = Reduce(y) {kind=" + kind +
                      ", axes=[1]}\nu = Add(z, z)\nv = Sub(u, y)\nw = Exp(Cast(v) {to=f32})\noutput w\n",
                  4);
}

// What is read or made is large, or a later step waits for something else and the rest are few.
TEST(SmallSteps, LeaveOthers) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  const std::string waits =
      "input x: f32 64x64\ninput a: i64 8\nb = Reduce(Mul(a, 3)) {axes=[0]}\ns = Reduce(Softmax(x)) {kind=max, "
      "axes=[0,1]}\n"
      "c = Mul(s, Cast(b) {to=f32})\noutput c\noutput b\n";
  for (const std::string& text : {dropout(9, 1000), waits}) {
    const auto plan = plan_of(graph_of(text));
    for (const StepRun& run : plan->runs) EXPECT_EQ(run.count, 0u) << plan->to_text();
  }
}

}  // namespace
}  // namespace plica
