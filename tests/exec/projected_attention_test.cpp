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
  int batch, heads, length, channels;
  std::string terms = "";       // operands of the attention behind v
  bool constant_angles = true;  // else they are computed
  bool has_bias = true;
  std::string columns =
      "parts";  // of the product's result: queries, keys and values one behind the other, or "heads": those of a head
  int width = 16;
};

std::string num(int value) { return std::to_string(value); }

// y = Attention of what a product makes of rows; queries and keys have a variance of about 4 and are turned.
std::string text_of(const Form& form, const std::string& dtype) {
  const std::string b = num(form.batch), h = num(form.heads), l = num(form.length), d = num(form.width);
  const std::string outer = num(3 * form.heads * form.width), k = num(form.channels);
  const auto made = [&](const std::string& name, const std::string& shape) {
    return "input " + name + "0: f32 " + shape + "\n" + name + " = Cast(Sin(Mul(" + name + "0, " +
           (name == "s" ? "0.9" : "0.7") + "))) {to=" + dtype + "}\n";
  };
  const auto angles = [&](const std::string& name) {
    return form.constant_angles ? "constant " + name + ": " + dtype + " " + l + "x" + d + "\n"
                                : made(name, l + "x" + d);
  };
  const bool by_parts = form.columns == "parts";
  const auto part = [&](int first, int count) {
    return "Reshape(Slice(t) {starts=[0," + num(first) + ",0,0,0], sizes=[" + b + "," + num(count) + "," + h + "," + l +
           "," + d + "], steps=[1,1,1,1,1]}) {shape=[" + b + "," + num(count * form.heads) + "," + l + "," + d + "]}";
  };
  const auto heads = [&](int first) {
    return "Slice(r) {starts=[0," + num(first * form.heads) + ",0,0], sizes=[" + b + "," + h + "," + l + "," + d +
           "], steps=[1,1,1,1]}";
  };
  const std::string factor = std::to_string(3.5 / std::sqrt(form.channels));
  std::string text = made("x", b + "x" + l + "x" + k) + angles("c") + angles("s") +
                     made("bias", b + "x1x" + l + "x" + l) + made("added", b + "x1x1x" + l) +
                     "seen = Less(-0.5, added)\n" + "constant w: " + dtype + " " + k + "x" + outer + "\n" +
                     "constant o: " + dtype + " " + outer + "\n" + "n = Mul(LayerNorm(x), " + factor + ")\n" +
                     "p = MatMul(n, w" + (form.has_bias ? ", o" : "") + ")\n";
  if (by_parts)
    text += "t = Transpose(Reshape(p) {shape=[" + b + "," + l + ",3," + h + "," + d + "]}) {perm=[0,2,3,1,4]}\n" +
            "r = Rotary(" + part(0, 2) + ", c, s)\nq = " + heads(0) + "\nk = " + heads(1) + "\n";
  else
    text += "t = Transpose(Reshape(p) {shape=[" + b + "," + l + "," + h + ",3," + d + "]}) {perm=[0,3,2,1,4]}\n" +
            "q = " + part(0, 1) + "\nk = Rotary(" + part(1, 1) + ", c, s)\n";
  return text + "y = Attention(q, k, " + part(2, 1) + form.terms +
         ") {scale=0.1, fill=-10000}\nz = Mul(y, 4)\noutput z\n";
}

void replace(std::string& text, std::string_view from, std::string_view to) {
  ASSERT_NE(text.find(from), std::string::npos) << from << "\n" << text;
  text.replace(text.find(from), from.size(), to);
}

// What the run gives, which is what its steps alone give, but for weights that are rounded beside values of up to 4.
std::vector<double> values_as_alone(const std::string& text, double tolerance) {
  const auto plan = plan_of(graph_of(text)), alone = plan_of(graph_of(text), {.skip_passes = {"runs"}});
  EXPECT_THAT(plan->runs, SizeIs(1)) << plan->to_text();
  for (const StepRun& run : plan->runs) EXPECT_EQ(run.kernel->name, "projected");
  EXPECT_THAT(alone->runs, SizeIs(0));
  const std::vector<double> found = values_of(run_plan(*plan)[0]), wanted = values_of(run_plan(*alone)[0]);
  const auto is_near = [&](double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance * (4 + std::abs(b));
  };
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!is_near(found[i], wanted[i])) {
      ADD_FAILURE() << i << ": " << found[i] << ", alone " << wanted[i] << "\n" << text;
      break;
    }
  return found;
}

TEST(ProjectedAttention, IsAsItsStepsAlone) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  const Form forms[] = {{1, 20, 128, 320},
                        {1, 20, 127, 320, ", _, added"},
                        {1, 3, 17, 200, ", bias, added", false},
                        {2, 4, 100, 64, ", _, seen", true, false},
                        {3, 1, 1, 8, "", false},
                        {1, 5, 33, 312, ", bias, seen", true, true, "heads"},
                        {2, 2, 65, 128, "", true, false, "heads"},
                        {33, 2, 32, 16, ", _, seen", false}};
  for (const Form& form : forms)
    for (const std::string dtype : {"bf16", "f16"}) {
      const std::vector<double> found = values_as_alone(text_of(form, dtype), dtype == "bf16" ? 0.03 : 0.004);
      EXPECT_GT(std::ranges::max(found), 1) << "values that say little";
    }
}

// A row without keys: what the arithmetic gives.
TEST(ProjectedAttention, RowsWithoutKeysAreNaNOrZero) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  for (const std::string rows : {"none", "masked", "undefined"}) {
    std::string text = text_of({1, 2, 40, 32, ", _, seen"}, "bf16");
    replace(text, "fill=-10000", "fill=-inf, zero_rows=" + rows);
    replace(text, "Less(-0.5, added)", "Less(5, added)");
    const std::vector<double> found = values_as_alone(text, 0);
    if (rows == "none")
      EXPECT_THAT(found, testing::Each(testing::IsNan()));
    else
      EXPECT_THAT(found, testing::Each(0));
  }
}

// Scores that are +inf or NaN, and values that are not finite: as in the steps alone.
TEST(ProjectedAttention, RowsOfNaNStaySoOrAreZeros) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  for (const std::string bias : {"Sqrt(Add(Sin(Mul(bias0, 0.7)), 0.9993))", "Div(1, Max(Sin(Mul(bias0, 0.7)), -0.9))",
                                 "Div(0.001, Max(Add(Sin(Mul(bias0, 0.7)), 0.9993), 0))"})
    for (const std::string rows : {"none", "masked", "undefined"}) {
      std::string text = text_of({2, 2, 40, 64, ", bias"}, "f16");
      replace(text, "Sin(Mul(bias0, 0.7))", bias);
      replace(text, "{scale=0.1", "{zero_rows=" + rows + ", scale=0.1");
      const std::vector<double> found = values_as_alone(text, 0.004);
      if (bias.starts_with("Div(1,")) continue;
      const auto num_nan = std::ranges::count_if(found, [](double x) { return std::isnan(x); });
      EXPECT_EQ(std::ranges::count(found, 0) > 0, rows == "undefined") << text;
      EXPECT_EQ(num_nan > 0, rows != "undefined") << text;
      EXPECT_LT(num_nan, static_cast<int64_t>(found.size())) << text;
    }
}

// Some values of a column are +inf: it is NaN in rows without weights, however these became zeros, and +inf in others.
TEST(ProjectedAttention, ValuesThatAreNotFiniteSpoilZeros) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  for (const std::string rows : {"none", "undefined"}) {
    std::string text = text_of({2, 1, 40, 64, ", bias"}, "f16"), o = "[";
    for (int i = 0; i < 48; ++i) o += (i == 0 ? "" : ",") + num(i == 37 ? 65000 : 0);
    replace(text, "constant o: f16 48", "constant o: f16 48 = " + o + "]");
    replace(text, "Sin(Mul(bias0, 0.7))", "Sqrt(Add(Sin(Mul(bias0, 0.7)), 0.9993))");
    replace(text, "LayerNorm(x), 0.", "LayerNorm(x), 1000.");
    replace(text, "{scale=0.1", "{zero_rows=" + rows + ", scale=1e-08");
    replace(text, "Mul(y, 4)", "Mul(y, 0.0001)");
    const std::vector<double> found = values_as_alone(text, 0.004);
    for (size_t i = 5; i < found.size(); i += 16) EXPECT_FALSE(std::isfinite(found[i])) << i;
    EXPECT_EQ(std::ranges::count(found, 0) > 0, rows == "undefined");
    EXPECT_GT(std::ranges::count(found, INFINITY), 0);
    EXPECT_GT(std::ranges::count_if(found, [](double x) { return std::isnan(x); }), 0);
  }
}

// Rows of one sequence are not in those of another.
TEST(ProjectedAttention, SequencesAreApart) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  std::string text = text_of({3, 2, 40, 64, ", _, seen"}, "bf16");
  replace(text, "n = Mul(LayerNorm(x), ", "input e: f32 3x1x1\nn = Mul(Div(LayerNorm(x), Cast(e) {to=bf16}), ");
  const std::vector<double> found = values_as_alone(text, 0.03);  // the first is divided by zero
  const auto is_nan = [](double x) { return std::isnan(x); };
  const auto a_sequence = static_cast<std::ptrdiff_t>(found.size() / 3);
  EXPECT_EQ(std::count_if(found.begin(), found.begin() + a_sequence, is_nan), a_sequence);
  EXPECT_EQ(std::count_if(found.begin() + a_sequence, found.end(), is_nan), 0);
}

TEST(ProjectedAttention, LeavesOthers) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  const Form plain{1, 2, 40, 64};
  for (const auto& [form, from, to] :
       {std::tuple{Form{1, 2, 129, 64}, "", ""},                              // long
        std::tuple{Form{2, 20, 128, 64}, "", ""},                             // many
        std::tuple{Form{1, 2, 40, 328}, "", ""},                              // many channels
        std::tuple{Form{1, 2, 40, 60}, "", ""},                               // rows that are not aligned
        std::tuple{Form{1, 2, 40, 64, "", true, true, "parts", 32}, "", ""},  // wide heads
        std::tuple{plain, "w, o)", "w, o) {activation=relu}"},                //
        std::tuple{plain, "w, o)", "w, o) {alpha=2}"},                        //
        std::tuple{plain, "c, s)\nq", "c, s) {interleaved=true}\nq"},         //
        std::tuple{plain, "{scale", "{causal=true, scale"},                   //
        std::tuple{plain, "output z", "output z\nu = Softmax(p)\noutput u"},  // read elsewhere
        std::tuple{plain, "output z", "output z\nu = Softmax(r)\noutput u"},  //
        std::tuple{plain, "constant w: bf16 64x96",
                   "input w0: f32 64x96\nw = Cast(Sin(w0)) {to=bf16}"},  // a matrix that is made
        std::tuple{plain, "constant o: bf16 96", "input o0: f32 96\no = Cast(Sin(o0)) {to=bf16}"},
        std::tuple{plain, "w, o)", "w, o, _, MatMul(n, w))"}}) {  // a residual
    std::string text = text_of(form, "bf16");
    if (*from != 0) replace(text, from, to);
    const auto plan = plan_of(graph_of(text));
    for (const StepRun& run : plan->runs) EXPECT_NE(run.kernel->name, "projected") << text;
  }
  const auto plan = plan_of(graph_of(text_of(plain, "f32")));
  EXPECT_THAT(plan->runs, SizeIs(0));
}

}  // namespace
}  // namespace plica
