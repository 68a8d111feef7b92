#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ops/step_run.h"
#include "tests/exec/run_plan.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

using testing::SizeIs;

struct Form {
  int rows, depth, columns;
  std::string norm = "LayerNorm(x) {eps=1e-5}";
  std::string epilogue = "";  // operands of the product behind its matrix, and attributes
  std::string x = "Sin(Mul(x0, 0.7))";
};

// The product's result is read by a step behind it that no product takes over.
std::string text_of(const Form& form, const std::string& dtype = "bf16") {
  const std::string m = std::to_string(form.rows), k = std::to_string(form.depth), n = std::to_string(form.columns);
  return "input x0: f32 " + m + "x" + k + "\ninput r0: f32 " + m + "x" + n + "\nconstant w: " + dtype + " " + k + "x" +
         n + "\nconstant b: " + dtype + " " + n + "\nx = Cast(" + form.x + ") {to=" + dtype +
         "}\nr = Cast(Cos(r0)) {to=" + dtype + "}\ny = MatMul(" + form.norm + ", w" + form.epilogue +
         "\nz = Add(y, Sin(y))\noutput z\n";
}

void expect_as_alone(const Form& form, double tolerance) {
  const std::string text = text_of(form);
  const auto plan = plan_of(graph_of(text)), alone = plan_of(graph_of(text), {.skip_passes = {"runs"}});
  ASSERT_THAT(plan->runs, SizeIs(1)) << plan->to_text();
  EXPECT_EQ(plan->runs[0].kernel->name, "wgmma_rows");
  ASSERT_THAT(alone->runs, SizeIs(0));
  const std::vector<double> found = values_of(run_plan(*plan)[0]), wanted = values_of(run_plan(*alone)[0]);
  double largest = 1;
  for (double value : wanted)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::isfinite(wanted[i]))
      ASSERT_NEAR(found[i], wanted[i], tolerance * largest) << i << "\n" << text;
    else
      ASSERT_FALSE(std::isfinite(found[i])) << i << "\n" << text;
  }
}

TEST(NormedRows, AreAsTheirStepsAlone) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  const std::string gelu = ", b) {activation=gelu}", all = ", b, _, r) {activation=silu, alpha=0.5}";
  for (const Form& form :
       {Form{128, 320, 1208, "LayerNorm(x) {eps=1e-5}", gelu}, Form{128, 320, 960, "LayerNorm(x) {eps=1e-12}", ")"},
        Form{1, 8, 16, "LayerNorm(x) {eps=1e-5}", ")"}, Form{17, 328, 72, "LayerNorm(x) {eps=1e-5}", all},
        Form{100, 512, 200, "RmsNorm(x) {eps=1e-6}", ", b)"}, Form{33, 72, 136, "RmsNorm(x) {eps=0.1}", ", _, _, r)"}})
    expect_as_alone(form, 0.02);
}

// Rows of one number, of zeros, of means far above deviations, of what no square in f32 holds, of infinities.
TEST(NormedRows, MayBeHostile) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  for (const std::string x :
       {"Add(Mul(x0, 0), 3)", "Mul(x0, 0)", "Add(Sin(x0), 500)", "Add(Mul(x0, 0.0001), 3)", "Mul(Sin(x0), 1e-4)",
        "Mul(Sin(x0), 60000)", "Mul(Sin(x0), 1e30)", "Log(Mul(x0, 0))", "Div(1, Mod(x0, 40))"})
    for (const std::string norm : {"LayerNorm(x) {eps=1e-5}", "RmsNorm(x) {eps=1e-5}", "LayerNorm(x) {eps=1e-12}"})
      expect_as_alone({20, 64, 72, norm, ", b)", x}, 0.02);
}

TEST(NormedRows, LeaveOthers) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  const std::string norm = "LayerNorm(x) {eps=1e-5}";
  for (const Form& form : {Form{129, 64, 64, norm, ")"}, Form{16, 520, 64, norm, ")"}, Form{16, 64, 68, norm, ")"},
                           Form{16, 64, 64, "LayerNorm(x) {eps=0}", ")"}})
    EXPECT_THAT(plan_of(graph_of(text_of(form)))->runs, SizeIs(0)) << text_of(form);
  EXPECT_THAT(plan_of(graph_of(text_of({16, 64, 64, norm, ")"}, "f16")))->runs, SizeIs(0));
  std::string read_twice = text_of({16, 64, 64, norm, ")"});
  read_twice.replace(read_twice.find("MatMul(" + norm), 7 + norm.size(), "MatMul(l");
  read_twice.insert(read_twice.find("y = "), "l = " + norm + "\nu = Softmax(l)\noutput u\n");
  EXPECT_THAT(plan_of(graph_of(read_twice))->runs, SizeIs(0)) << read_twice;
}

}  // namespace
}  // namespace plica
