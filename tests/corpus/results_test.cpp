#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "graph/scalar.h"
#include "loaders/onnx/lower.h"
#include "runtime/core/dtype.h"
#include "runtime/exec/plan_cache.h"
#include "tests/corpus/corpus.h"
#include "tests/harness/test_device.h"

namespace plica::test {
namespace {

// The first element where |found - wanted| > atol + rtol |wanted|, as text; empty where there is none.
std::string first_difference(const Tensor& found, const Tensor& wanted, double rtol, double atol) {
  if (found.type() != wanted.type()) return "type " + to_string(found.type()) + ", wanted " + to_string(wanted.type());
  const ConstantPtr a = make_constant(found, "found"), b = make_constant(wanted, "wanted");
  for (int64_t i = 0; i < num_elements(wanted.shape()); ++i) {
    const double x = element(*a, i), y = element(*b, i);
    if (x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= atol + rtol * std::abs(y)) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(x) + ", wanted " + std::to_string(y);
  }
  return "";
}

// One run by the plan for these inputs.
Result<std::vector<Tensor>> run(PlanCache& plans, const std::vector<Tensor>& inputs) {
  std::vector<TensorView> views;
  for (const Tensor& input : inputs) views.push_back(input.view());
  PLICA_TRY(const auto planned, plans.get(views));
  return run_on_test_device(planned->plan, inputs);
}

// Where an element differs from what is wanted by more than `part` of the largest finite one, as text.
std::string difference_beyond(double part, const Tensor& found, const Tensor& wanted) {
  double largest = 0;
  const ConstantPtr constant = make_constant(wanted, "wanted");
  for (int64_t i = 0; i < num_elements(wanted.shape()); ++i)
    if (const double y = std::abs(element(*constant, i)); std::isfinite(y)) largest = std::max(largest, y);
  return first_difference(found, wanted, 0, is_float(wanted.dtype()) ? part * largest : 0);
}

using Difference = std::function<std::string(const Tensor& found, const Tensor& wanted)>;

void expect_results(const CorpusCase& c, const PlanOptions& options, const Difference& difference) {
  auto module = onnx::read_module(c.model());
  ASSERT_TRUE(module) << to_string(module.error());
  const Source source = onnx::make_source(std::make_shared<const onnx::Module>(*std::move(module)));
  ConstantStore constants;
  PlanCache plans(source, on_test_device(options), constants, 8);
  for (size_t set = 0; set < c.num_sets(); ++set) {
    SCOPED_TRACE("set " + std::to_string(set));
    const std::vector<Tensor> wanted = c.outputs(set);
    auto outputs = run(plans, c.inputs(set));
    ASSERT_TRUE(outputs) << to_string(outputs.error());
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(difference((*outputs)[i], wanted[i]), "") << "output " << i;
  }
}

void expect_results(const CorpusCase& c, const PlanOptions& options) {
  expect_results(c, options, [&](const Tensor& found, const Tensor& wanted) {
    return first_difference(found, wanted, c.about["rtol"], c.about["atol"]);
  });
}

class Results : public testing::TestWithParam<std::string> {};

TEST_P(Results, AreWithinTheTolerancesOfCaseJson) {
  const auto cases = corpus_cases({GetParam()});
  if (cases.empty()) GTEST_SKIP() << corpus_is_absent();
  for (const CorpusCase& c : cases) {
    SCOPED_TRACE(c.name);
    expect_results(c, {});
  }
}

// But for 16 bits, which the plain plan rounds to after every step.
TEST_P(Results, OfThePlainPlanAreToo) {
  if (GetParam() == "half") GTEST_SKIP() << "the plain plan rounds to 16 bits after every step";
  const auto cases = corpus_cases({GetParam()});
  if (cases.empty()) GTEST_SKIP() << corpus_is_absent();
  PlanOptions options;
  options.reference = true;
  for (const CorpusCase& c : cases) {
    SCOPED_TRACE(c.name);
    expect_results(c, options);
  }
}

// Products of three tf32 parts are as good as those of f32 to the eye of any output.
TEST_P(Results, InTf32x3AreCloseToThem) {
  if (tests_the_cpu()) GTEST_SKIP() << "the CPU computes in the file's own types";
  if (GetParam() == "half") GTEST_SKIP() << "the expected outputs are rounded to 16 bits";
  const auto cases = corpus_cases({GetParam()});
  if (cases.empty()) GTEST_SKIP() << corpus_is_absent();
  PlanOptions options;
  options.precision = Precision::kTf32x3;
  for (const CorpusCase& c : cases) {
    SCOPED_TRACE(c.name);
    expect_results(c, options,
                   [](const Tensor& found, const Tensor& wanted) { return difference_beyond(1e-4, found, wanted); });
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, Results, testing::ValuesIn(kCorpusGroups),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace plica::test
