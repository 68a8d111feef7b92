#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "ops/step_run.h"
#include "tests/exec/run_plan.h"
#include "tests/harness/test_device.h"

namespace plica {
namespace {

using testing::SizeIs;

// A norm and a product, its first columns turned.
struct Form {
  int batch, length, width, columns;
  std::string norm = "LayerNorm(x) {eps=0.001}";  // x: none
  std::string bias = "b", activation = "none";
  int heads = 0, head_width = 64;  // turned; 0: none
  size_t steps = 2;
  std::string rotary = "";  // attributes
  std::string kernel = "wgmma_tiles";
  int mean = 20;  // at most
};

std::string num(int value) { return std::to_string(value); }

// Rows of all kinds: each has another mean and size; some are of one number. `wide`: all behind the rounding of what is given in f32.
std::string text_of(const Form& form, const std::string& dtype, bool wide = false) {
  const std::string b = num(form.batch), l = num(form.length), k = num(form.width), n = num(form.columns);
  const std::string rows = b + "x" + l + "x";
  const auto constant = [&](const std::string& name, const std::string& shape) {
    const std::string line = "constant " + name + ": " + dtype + " " + shape + "\n";
    return wide ? line + name + " = Cast(" + name + ") {to=f32}\n" : line;
  };
  std::string text = "input x0: f32 " + rows + k + "\ninput r0: f32 " + rows + "1\n" +
                     "size = Max(Add(Sin(r0), 0.8), 0)\nmean = Mul(Sin(Mul(r0, 1.3)), " + num(form.mean) + ")\n" +
                     "x = Cast(Add(Mul(Sin(Mul(x0, 0.7)), size), mean)) {to=" + dtype + "}\n" +
                     (wide ? "x = Cast(x) {to=f32}\n" : "") + constant("w", k + "x" + n) + constant("b", n);
  text += "y = MatMul(" + form.norm + ", w, " + form.bias + ") {activation=" + form.activation + "}\n";
  if (form.heads == 0) return text + "z = Mul(y, 0.5)\noutput z\n";
  const std::string h = num(form.heads), d = num(form.head_width), end = num(form.heads * form.head_width);
  const std::string angles = l + "x" + d;
  return text + constant("c", angles) + constant("s", angles) +
         "t = Transpose(Reshape(Slice(y) {starts=[0,0,0], sizes=[" + b + "," + l + "," + end +
         "], steps=[1,1,1]}) {shape=[" + b + "," + l + "," + h + "," + d + "]}) {perm=[0,2,1,3]}\nr = Rotary(t, c, s)" +
         form.rotary + "\nv = Slice(y) {starts=[0,0," + end + "], sizes=[" + b + "," + l + "," +
         num(form.columns - form.heads * form.head_width) +
         "], steps=[1,1,1]}\nz = Mul(r, 0.5)\nu = Mul(v, 0.5)\noutput z\noutput u\n";
}

void expect_as_in_f32(const Form& form) {
  const std::string text = text_of(form, "bf16");
  const auto plan = plan_of(graph_of(text)), reference = plan_of(graph_of(text_of(form, "bf16", true)));
  ASSERT_THAT(plan->runs, SizeIs(1)) << plan->to_text();
  EXPECT_EQ(plan->runs[0].kernel->name, form.kernel);
  EXPECT_EQ(plan->runs[0].count, form.steps) << plan->to_text();
  ASSERT_THAT(reference->runs, SizeIs(0));
  const std::vector<Tensor> found = run_plan(*plan), wanted = run_plan(*reference);
  const double tolerance = 0.03;
  for (size_t output = 0; output < wanted.size(); ++output) {
    const std::vector<double> a = values_of(found[output]), b = values_of(wanted[output]);
    for (size_t i = 0; i < b.size(); ++i)
      ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << output << " " << i << "\n" << text;
  }
}

TEST(NormedProduct, IsAsItsStepsInF32) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  Form forms[] = {{1, 512, 64, 3840},  {2, 300, 72, 2568}, {1, 512, 128, 5120}, {1, 520, 320, 2688},
                  {1, 512, 128, 3840}, {2, 256, 64, 3840}, {1, 514, 1280, 2696}};
  forms[1].activation = "gelu";
  forms[2].activation = "silu", forms[2].bias = "_";
  forms[3].norm = "RmsNorm(x) {eps=0.001}";
  forms[4].heads = 16, forms[4].steps = 3;
  forms[5].heads = 8, forms[5].head_width = 32, forms[5].steps = 3;
  forms[6].heads = 24, forms[6].head_width = 16, forms[6].steps = 3, forms[6].rotary = " {interleaved=true}";
  for (const Form& form : forms) expect_as_in_f32(form);
}

TEST(NormedProduct, OfFewRowsIsAsItsStepsInF32) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  Form forms[] = {{1, 128, 64, 2560}, {2, 60, 72, 2568},   {1, 113, 648, 4168}, {1, 128, 8, 4096},
                  {1, 112, 8, 2504},  {1, 128, 320, 2176}, {1, 127, 768, 2560}, {1, 128, 320, 2560}};
  forms[1].activation = "silu", forms[1].bias = "_";
  forms[2].norm = forms[4].norm = "RmsNorm(x) {eps=0.001}";
  for (const size_t i : {2, 3, 5}) forms[i].activation = "gelu";
  forms[7].mean = 2000;
  for (Form& form : forms) {
    form.kernel = "wgmma_clusters";
    expect_as_in_f32(form);
  }
}

// A second run finds the memory of the run's own as the first left it.
TEST(NormedProduct, GivesTheSameEachTime) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  const auto plan = plan_of(graph_of(text_of({1, 512, 64, 3200}, "bf16")));
  ASSERT_THAT(plan->runs, SizeIs(1));
  const std::vector<double> first = values_of(run_plan(*plan)[0]);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values_of(run_plan(*plan)[0]), first);
}

TEST(NormedProduct, RowsThatAreNotNumbersAreNaNAlone) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  for (const int rows : {512, 128}) {
    std::string text = text_of({1, rows, 64, 3200}, "bf16");
    text.replace(text.find("mean = Mul(Sin(Mul(r0, 1.3)), 20)"), 33, "mean = Div(r0, Sub(r0, 7))");  // row 7: inf
    const auto plan = plan_of(graph_of(text)), alone = plan_of(graph_of(text), {.skip_passes = {"runs"}});
    ASSERT_THAT(plan->runs, SizeIs(1)) << plan->to_text();
    const std::vector<double> found = values_of(run_plan(*plan)[0]), wanted = values_of(run_plan(*alone)[0]);
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(std::isnan(wanted[i]), i / 3200 == 7) << i;
      ASSERT_EQ(std::isnan(found[i]), i / 3200 == 7) << i;
    }
  }
}

TEST(NormedProduct, LeavesOthers) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  const Form plain{1, 512, 64, 3200};
  for (const auto& [form, from, to] :
       {std::tuple{Form{1, 256, 64, 6400}, "", ""},                             // few rows
        std::tuple{Form{1, 512, 64, 2048}, "", ""},                             // few tiles
        std::tuple{Form{1, 104, 64, 3840}, "", ""},                             // rows of half a tile
        std::tuple{Form{1, 128, 776, 3840}, "", ""},                            // few deep rows
        std::tuple{Form{1, 1024, 64, 4096}, "", ""},                            // many tiles
        std::tuple{plain, "LayerNorm(x) {eps=0.001}", "LayerNorm(x) {eps=0}"},  //
        std::tuple{plain, "LayerNorm(x) {", "LayerNorm(x, g, g) {"},            // with factors
        std::tuple{plain, "activation=none", "activation=relu"},                //
        std::tuple{plain, "output z", "output z\nq = Mul(n, 2)\noutput q"}}) {  // the norm is read elsewhere
    std::string text = text_of(form, "bf16");
    if (std::string_view(from).starts_with("output")) {
      const size_t at = text.find("LayerNorm(x) {eps=0.001}, w");
      text.replace(at, 24, "n");
      text.insert(text.find("y = MatMul"), "n = LayerNorm(x) {eps=0.001}\n");
    }
    if (*from != 0) text.replace(text.find(from), std::string_view(from).size(), to);
    text.insert(0, "constant g: bf16 64\n");
    EXPECT_THAT(plan_of(graph_of(text))->runs, SizeIs(0)) << text;
  }
  EXPECT_THAT(plan_of(graph_of(text_of(plain, "f16")))->runs, SizeIs(0));
}

// What is turned is written where the rotary embedding's result lies alone.
TEST(NormedProduct, LeavesColumnsThatAreReadAsTheyWere) {
  if (tests_the_cpu()) GTEST_SKIP() << "a kernel of CUDA";
  Form form{1, 512, 64, 3200};
  form.heads = 16;
  std::string text = text_of(form, "bf16");
  text += "o = Mul(t, 2)\noutput o\n";
  const auto plan = plan_of(graph_of(text));
  ASSERT_THAT(plan->runs, SizeIs(1)) << plan->to_text();
  EXPECT_EQ(plan->runs[0].count, 2u) << plan->to_text();
}

}  // namespace
}  // namespace plica
