#include <gmock/gmock.h>

#include "tests/exec/run_plan.h"

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
  const auto plan = plan_of(graph_of("input x: f32 64x64\ny = Softmax(Exp(x))\noutput y\n"));
  EXPECT_GE(plan->inner_bytes, 64 * 64 * sizeof(float));
  EXPECT_LT(plan->inner_bytes, 2 * 64 * 64 * sizeof(float));
}

}  // namespace
}  // namespace plica
