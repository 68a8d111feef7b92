#include <gmock/gmock.h>

#include <cmath>

#include "tests/exec/run_plan.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kRows = R"(
    input x: f32 2x3
    input z: f32 1x3
    a = Exp(x)
    b = Exp(Neg(z))
    c = Concat(a, b) {axis=0}
)";

TEST(Parts, AreWrittenWhereTheyStandInTheWhole) {
  const auto plan = plan_of(graph_of(std::string(kRows) + "y = Softmax(c)\noutput y\n"));
  EXPECT_THAT(steps_of(*plan), Not(HasSubstr("Concat")));
  EXPECT_THAT(steps_of(*plan), Not(HasSubstr("Copy")));
  EXPECT_EQ(plan->steps[1].out[0].offset_bytes - plan->steps[0].out[0].offset_bytes, 24);
  const std::vector<double> y = values_of(run_plan(*plan)[0]), wanted = [] {
    PlanOptions plain{.reference = true};
    return values_of(run_plan(*plan_of(graph_of(std::string(kRows) + "y = Softmax(c)\noutput y\n"), plain))[0]);
  }();
  ASSERT_EQ(y.size(), wanted.size());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], wanted[i], 1e-6);
}

TEST(Parts, OfAnOutputAreWrittenIntoIt) {
  const auto plan = plan_of(graph_of(std::string(kRows) + "output c\n"));
  EXPECT_THAT(steps_of(*plan), Not(HasSubstr("Concat")));
  for (const Step& step : plan->steps) EXPECT_EQ(step.out[0].kind, Place::Kind::kOutput);
  EXPECT_EQ(values_of(run_plan(*plan)[0])[6], 1);
}

TEST(Parts, OfColumnsToo) {
  const auto plan = plan_of(graph_of(R"(
      input x: f32 2x1
      input z: f32 2x2
      a = Mul(x, 10)
      b = Mul(z, 100)
      y = Concat(a, b) {axis=1}
      output y
  )"));
  EXPECT_THAT(steps_of(*plan), Not(HasSubstr("Concat")));
  EXPECT_THAT(values_of(run_plan(*plan)[0]), ElementsAre(0, 0, 100, 10, 200, 300));
}

TEST(Parts, WhatOthersReadIsNoPart) {
  const auto twice = plan_of(graph_of("input x: f32 2\na = Exp(x)\ny = Concat(a, a) {axis=0}\noutput y\n"));
  EXPECT_THAT(steps_of(*twice), HasSubstr("Concat"));
  const auto kept = plan_of(graph_of(std::string(kRows) + "output c\noutput a\n"));
  EXPECT_THAT(steps_of(*kept), HasSubstr("Concat"));
  const auto view = plan_of(graph_of("input x: f32 2\na = Exp(x)\ny = Concat(x, a) {axis=0}\noutput y\n"));
  EXPECT_THAT(steps_of(*view), HasSubstr("Concat"));
}

TEST(Parts, InputsAndOutputsAreCountedApart) {
  const auto plan = plan_of(graph_of("input x: f32 64x64\ny = Reduce(Softmax(x)) {axes=[1]}\noutput y\n"));
  EXPECT_GE(plan->inner_bytes, 64 * 64 * sizeof(float));
  EXPECT_LT(plan->inner_bytes, 2 * 64 * 64 * sizeof(float));
}

// Rows that are added to, in two parts.
std::string residuals(const std::string& left, const std::string& rest) {
  return R"(
      input x: f32 4x4
      constant w: f32 4x4
      r = Exp(x)
      n = Softmax(x)
      a = Slice(r) {starts=[0,0], sizes=[2,4], steps=[1,1]}
      b = Slice(r) {starts=[2,0], sizes=[2,4], steps=[1,1]}
      c = Slice(n) {starts=[0,0], sizes=[2,4], steps=[1,1]}
      d = Slice(n) {starts=[2,0], sizes=[2,4], steps=[1,1]}
      z = Concat(MatMul()" +
         left + ", w, _, _, a), MatMul(d, w, _, _, b)) {axis=0}\n" + rest;
}

const Step& step_of(const Plan& plan, std::string_view op, size_t number = 0) {
  for (const Step& step : plan.steps)
    if (step.op->name == op && number-- == 0) return step;
  return plan.steps.back();
}

TEST(Parts, TakeOverWhatTheyAddTo) {
  if (!tests_the_cpu()) GTEST_SKIP() << "products this small are added to elsewhere on a GPU";
  const auto plan = plan_of(graph_of(residuals("c", "y = Softmax(z)\noutput y\n")));
  const int64_t base = step_of(*plan, "Map").out[0].offset_bytes;
  EXPECT_EQ(step_of(*plan, "MatMul").out[0].offset_bytes, base);
  EXPECT_EQ(step_of(*plan, "MatMul", 1).out[0].offset_bytes, base + 32);
  EXPECT_THAT(steps_of(*plan), Not(HasSubstr("Copy")));
}

TEST(Parts, StandElsewhereWhereWhatTheyAddToIsReadOnceMore) {
  for (const auto& [left, rest] : {std::pair<std::string, std::string>("c", "y = Softmax(Add(z, r))\noutput y\n"),
                                   {"a", "y = Softmax(z)\noutput y\n"},
                                   {"b", "y = Softmax(z)\noutput y\n"},
                                   {"c", "y = Softmax(z)\noutput y\noutput r\n"}}) {
    const std::string text = residuals(left, rest);
    const auto plan = plan_of(graph_of(text)), plain = plan_of(graph_of(text), {.reference = true});
    const std::vector<double> y = values_of(run_plan(*plan)[0]), wanted = values_of(run_plan(*plain)[0]);
    ASSERT_EQ(y.size(), wanted.size());
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], wanted[i], 1e-5 * (1 + std::abs(wanted[i]))) << text;
  }
}

// The first part, of another kernel than takes its place, is copied there; the second cannot stand over what it adds to itself.
TEST(Parts, ThatAreCopiedStayWhereTheWholeBegan) {
  const std::string text = R"(
      input x: f32 4x8
      constant w: f32 8x3
      r = Softmax(x)
      a = Slice(r) {starts=[0,0], sizes=[4,4], steps=[1,1]}
      b = Slice(r) {starts=[0,4], sizes=[4,4], steps=[1,1]}
      t = Transpose(b) {perm=[1,0]}
      z = Concat(Trilu(a) {upper=false}, Add(b, t)) {axis=1}
      y = MatMul(Softmax(z), w)
      output y
  )";
  const std::vector<double> y = values_of(run_plan(*plan_of(graph_of(text)))[0]),
                            wanted = values_of(run_plan(*plan_of(graph_of(text), {.reference = true}))[0]);
  ASSERT_EQ(y.size(), wanted.size());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], wanted[i], 1e-5);
}

}  // namespace
}  // namespace plica
