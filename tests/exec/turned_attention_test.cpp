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
  int batch, heads, length, width;
  bool together;                 // queries and keys are turned by one step
  std::string terms = "";        // operands of the attention behind v
  bool constant_angles = false;  // else they are computed
  std::string seen_as = "";      // the axes that the attention sees, where they are others
};

std::string text_of(const Form& form, const std::string& dtype) {
  const auto num = [](int value) { return std::to_string(value); };
  const std::string b = num(form.batch), h = num(form.heads), l = num(form.length), d = num(form.width);
  const auto part = [&](int first, int count) {
    return "Reshape(Slice(t) {starts=[0," + num(first) + ",0,0,0], sizes=[" + b + "," + num(count) + "," + h + "," + l +
           "," + d + "], steps=[1,1,1,1,1]}) {shape=[" + b + "," + num(count * form.heads) + "," + l + "," + d + "]}";
  };
  const auto heads = [&](int first) {
    return "Slice(r) {starts=[0," + num(first * form.heads) + ",0,0], sizes=[" + b + "," + h + "," + l + "," + d +
           "], steps=[1,1,1,1]}";
  };
  const auto made = [&](const std::string& name, const std::string& shape) {
    return "input " + name + "0: f32 " + shape + "\n" + name + " = Cast(Sin(Mul(" + name + "0, 0.7))) {to=" + dtype +
           "}\n";
  };
  const auto angles = [&](const std::string& name) {
    const std::string shape = l + "x" + d;
    return form.constant_angles ? "constant " + name + ": " + dtype + " " + shape + "\n" : made(name, shape);
  };
  const auto seen = [&](const std::string& value) {
    return form.seen_as.empty() ? value : "Reshape(" + value + ") {shape=" + form.seen_as + "}";
  };
  std::string text = made("x", b + "x" + l + "x" + num(3 * form.heads * form.width)) + angles("c") + angles("s") +
                     made("bias", b + "x1x" + l + "x" + l) + made("added", b + "x1x1x" + l) +
                     "seen = Less(-0.5, added)\n" + "t = Transpose(Reshape(LayerNorm(x)) {shape=[" + b + "," + l +
                     ",3," + h + "," + d + "]}) {perm=[0,2,3,1,4]}\n";
  if (form.together)
    text += "r = Rotary(" + part(0, 2) + ", c, s)\nq = " + heads(0) + "\nk = " + heads(1) + "\n";
  else
    text += "q = Rotary(" + part(0, 1) + ", c, s)\nk = Rotary(" + part(1, 1) + ", c, s)\n";
  return text + "y = Attention(" + seen("q") + ", " + seen("k") + ", " + seen(part(2, 1)) + form.terms +
         ") {scale=1.5, fill=-10000}\nz = Mul(y, 4)\noutput z\n";
}

TEST(TurnedAttention, IsAsItsStepsAlone) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  const Form forms[] = {
      {1, 20, 128, 64, true, ", bias"},       {1, 20, 128, 16, true, ", bias"}, {2, 3, 33, 32, false, ", bias, added"},
      {1, 2, 128, 128, true, ", _, seen"},    {3, 1, 1, 64, false, ""},         {1, 4, 100, 64, true, ", _, added"},
      {2, 2, 97, 16, false, ", bias, seen"},  {1, 1, 31, 128, false, ", bias"}, {2, 3, 40, 32, true, ", bias", true},
      {1, 20, 128, 16, false, ", bias", true}};
  for (const Form& form : forms)
    for (const std::string dtype : {"bf16", "f16"}) {
      const std::string text = text_of(form, dtype);
      const auto plan = plan_of(graph_of(text)), alone = plan_of(graph_of(text), {.skip_passes = {"runs"}});
      ASSERT_THAT(plan->runs, SizeIs(1)) << plan->to_text();
      EXPECT_EQ(plan->runs[0].kernel->name, "turned");
      ASSERT_THAT(alone->runs, SizeIs(0));
      const std::vector<double> found = values_of(run_plan(*plan)[0]), wanted = values_of(run_plan(*alone)[0]);
      const double tolerance = dtype == "bf16" ? 0.03 : 0.004;
      for (size_t i = 0; i < wanted.size(); ++i)
        ASSERT_NEAR(found[i], wanted[i], tolerance * (1 + std::abs(wanted[i]))) << dtype << " " << i << "\n" << text;
    }
}

// A row without keys: what the arithmetic gives.
TEST(TurnedAttention, RowsWithoutKeysAreNaNOrZero) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  for (const bool zeros : {false, true}) {
    std::string text = text_of({1, 2, 40, 32, true, ", _, seen"}, "bf16");
    text.replace(text.find("fill=-10000"), 11, zeros ? "fill=-inf, zero_rows=masked" : "fill=-inf");
    text.replace(text.find("Less(-0.5, added)"), 17, "Less(5, added)");
    const auto plan = plan_of(graph_of(text));
    ASSERT_THAT(plan->runs, SizeIs(1)) << plan->to_text();
    const std::vector<double> found = values_of(run_plan(*plan)[0]);
    if (zeros)
      EXPECT_THAT(found, testing::Each(0));
    else
      EXPECT_THAT(found, testing::Each(testing::IsNan()));
  }
}

// Rows of which a score is NaN, values that are NaN: as in the steps alone.
TEST(TurnedAttention, RowsOfNaNStaySoOrAreZeros) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  for (const std::string rows : {"none", "masked", "undefined"}) {
    std::string text = text_of({2, 2, 40, 32, true, ", bias"}, "bf16");
    const auto replace = [&](const std::string& from, const std::string& to) {
      text.replace(text.find(from), from.size(), to);
    };
    replace("Sin(Mul(bias0, 0.7))", "Sqrt(Add(Sin(Mul(bias0, 0.7)), 0.9993))");
    replace("y = Attention(q, k, ", "y = Attention(q, k, Sqrt(Sub(1.41, ");
    replace(", bias) {", ")), bias) {zero_rows=" + rows + ", ");
    const auto plan = plan_of(graph_of(text)), alone = plan_of(graph_of(text), {.skip_passes = {"runs"}});
    ASSERT_THAT(plan->runs, SizeIs(1)) << plan->to_text();
    const std::vector<double> found = values_of(run_plan(*plan)[0]), wanted = values_of(run_plan(*alone)[0]);
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(std::isnan(found[i]), std::isnan(wanted[i])) << rows << " " << i;
      if (std::isnan(wanted[i])) continue;
      ASSERT_NEAR(found[i], wanted[i], 0.03 * (1 + std::abs(wanted[i]))) << rows << " " << i;
    }
    EXPECT_EQ(std::ranges::count(found, 0) > 0, rows == "undefined");
    EXPECT_GT(std::ranges::count_if(found, [](double x) { return std::isnan(x); }), 0);
    EXPECT_GT(std::ranges::count_if(found, [](double x) { return x > 0; }), 0);
  }
}

TEST(TurnedAttention, LeavesOthers) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  for (const auto& [form, from, to] :
       {std::tuple{Form{1, 2, 129, 64, true}, "", ""},                                  // long
        std::tuple{Form{8, 20, 128, 64, true}, "", ""},                                 // many
        std::tuple{Form{2, 4, 40, 32, false, "", false, "[1,8,40,32]"}, "", ""},        // batches as heads
        std::tuple{Form{2, 4, 8, 32, false, "", false, "[2,1,32,32]"}, "", ""},         // heads as rows
        std::tuple{Form{1, 2, 40, 24, true}, "", ""},                                   // of another width
        std::tuple{Form{1, 2, 40, 32, true}, "{scale=1.5", "{causal=true, scale=1.5"},  //
        std::tuple{Form{1, 2, 40, 32, true}, "output z",
                   "output z\nu = Softmax(r)\noutput u"},  // turned keys are read elsewhere
        std::tuple{Form{1, 2, 40, 32, true}, "c, s)\nq", "c, s) {interleaved=true}\nq"}}) {
    std::string text = text_of(form, "bf16");
    if (*from != 0) text.replace(text.find(from), std::string_view(from).size(), to);
    EXPECT_THAT(plan_of(graph_of(text))->runs, SizeIs(0)) << text;
  }
}

}  // namespace
}  // namespace plica
