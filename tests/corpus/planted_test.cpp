#include <gtest/gtest.h>

#include "graph/pattern.h"
#include "graph/pipeline.h"
#include "tests/corpus/corpus.h"
#include "tests/graph/evaluate_graph.h"

namespace plica::test {
namespace {

// Faults that change embeddings only a little: the comparison with the plain plan must see each.
constexpr Rule kFaults[] = {
    {"drop_scale", "y = Attention(q, k, v, b?, m?, g?) {scale=$s, fill=$f, zero_masked_rows=$z, causal=$c}",
     "y = Attention(q, k, v, b, m, g) {fill=$f, zero_masked_rows=$z, causal=$c}",
     [](Match& m) { return m.number("$s") != 1; }},
    {"drop_mask", "y = Attention(q, k, v, b?, m?, g?) {scale=$s, fill=$f, zero_masked_rows=$z, causal=$c}",
     "y = Attention(q, k, v, _, _, g) {scale=$s, zero_masked_rows=$z, causal=$c}",
     [](Match& m) { return m.has("b") || m.has("m"); }},
};

// The largest difference of a planted plan from the plain one over all data sets; nothing where the fault cannot be
// planted.
std::optional<double> difference_with(const CorpusCase& c, const Rule& fault) {
  auto module = onnx::read_module(c.model());
  auto rules = RuleSet::parse({&fault, 1});
  std::optional<double> worst;
  for (size_t set = 0; set < c.num_sets(); ++set) {
    const std::vector<Tensor> inputs = c.inputs(set);
    auto graph = specialised(*module, inputs);
    Graph fused = *graph;
    ConstantStore constants;
    EXPECT_TRUE(run_pipeline(fused, {}, constants));
    auto num_planted = rules->apply(fused);
    EXPECT_TRUE(num_planted);
    if (*num_planted == 0) continue;
    PlanOptions plain;
    plain.reference = true;
    auto planted_plan = make_plan(std::move(fused), {}, constants), plain_plan = make_plan(*graph, plain, constants);
    EXPECT_TRUE(planted_plan && plain_plan);
    auto found = run_plan(*planted_plan, inputs), wanted = run_plan(*plain_plan, inputs);
    for (size_t i = 0; i < wanted->size(); ++i)
      worst = std::max(worst.value_or(0), difference((*found)[i], (*wanted)[i]));
  }
  return worst;
}

TEST(Planted, FaultsOfAttentionAreSeenInEveryFamily) {
  const auto cases = corpus_cases({"plm"});
  if (cases.empty()) GTEST_SKIP() << corpus_is_absent();
  for (const CorpusCase& c : cases) {
    for (const Rule& fault : kFaults) {
      const auto worst = difference_with(c, fault);
      EXPECT_GT(worst.value_or(1), 1e-3) << c.name << ", " << fault.name;
    }
  }
}

}  // namespace
}  // namespace plica::test
