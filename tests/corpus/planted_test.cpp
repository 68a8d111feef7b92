#include <gtest/gtest.h>

#include "graph/pattern.h"
#include "graph/pipeline.h"
#include "loaders/onnx/lower.h"
#include "runtime/api/model_state.h"
#include "tests/corpus/corpus.h"
#include "tests/harness/test_device.h"
#include "tools/command.h"
#include "tools/verification.h"

namespace plica::test {
namespace {

// Faults that change embeddings only a little: verify must see each.
constexpr Rule kFaults[] = {
    {"drop_scale", "y = Attention(q, k, v, b?, m?, g?) {scale=$s, fill=$f, zero_rows=$z, causal=$c}",
     "y = Attention(q, k, v, b, m, g) {fill=$f, zero_rows=$z, causal=$c}",
     [](Match& m) { return m.number("$s") != 1; }},
    {"drop_mask", "y = Attention(q, k, v, b?, m?, g?) {scale=$s, fill=$f, zero_rows=$z, causal=$c}",
     "y = Attention(q, k, v, _, _, g) {scale=$s, zero_rows=$z, causal=$c}",
     [](Match& m) { return m.has("b") || m.has("m"); }},
};

Result<int> plant(Graph& graph, const Rule& fault) {
  auto rules = RuleSet::parse({&fault, 1});
  if (!rules) return rules.take_error();
  return rules->apply(graph);
}

constexpr Pass kPlanted[] = {
    {"drop_scale", [](Graph& graph, ConstantStore&) { return plant(graph, kFaults[0]); }},
    {"drop_mask", [](Graph& graph, ConstantStore&) { return plant(graph, kFaults[1]); }},
};

bool can_plant(const CorpusCase& c, const std::vector<Tensor>& inputs, const Pass& fault) {
  auto module = onnx::read_module(c.model());
  auto graph = specialised(*module, inputs);
  ConstantStore constants;
  EXPECT_TRUE(run_pipeline(*graph, {}, constants));
  auto num_planted = fault.run(*graph, constants);
  EXPECT_TRUE(num_planted);
  return *num_planted > 0;
}

// The exit code of verify, the worst of all data sets; nothing where the fault cannot be planted.
std::optional<int> exit_code_with(const CorpusCase& c, const Pass& fault) {
  std::optional<int> worst;
  for (size_t set = 0; set < c.num_sets(); ++set) {
    const std::vector<Tensor> inputs = c.inputs(set);
    if (!can_plant(c, inputs, fault)) continue;
    auto module = onnx::read_module(c.model());
    EXPECT_TRUE(module);
    PlanOptions options = on_test_device();
    options.extra_passes = {fault};
    Model::State model(onnx::make_source(std::make_shared<const onnx::Module>(std::move(*module))), {}, options, {});
    auto outputs = verify(model, inputs, {});
    EXPECT_TRUE(outputs) << to_string(outputs.error());
    worst = std::max(worst.value_or(0), exit_code(*outputs));
  }
  return worst;
}

TEST(Planted, VerifyFailsInEveryFamily) {
  const auto cases = corpus_cases({"plm"});
  if (cases.empty()) GTEST_SKIP() << corpus_is_absent();
  int num_planted = 0;
  for (const CorpusCase& c : cases) {
    for (const Pass& fault : kPlanted) {
      const auto code = exit_code_with(c, fault);
      num_planted += code.has_value();
      EXPECT_EQ(code.value_or(kPartly), kPartly) << c.name << ", " << fault.name;
    }
  }
  EXPECT_GE(num_planted, 30);
}

}  // namespace
}  // namespace plica::test
