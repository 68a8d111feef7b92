#include <gtest/gtest.h>

#include <map>

#include "graph/pipeline.h"
#include "graph/text.h"
#include "tests/corpus/corpus.h"
#include "tests/corpus/mutation.h"

namespace plica::test {
namespace {

constexpr uint64_t kNumMutations = 4;

// All that case.json counts but what it says in words ("looks_like", "masked", "scale").
const std::vector<std::string> kCounted = {"attention",
                                           "attention_weights_out",
                                           "biased",
                                           "embedding",
                                           "gated",
                                           "gelu",
                                           "if",
                                           "global_query",
                                           "layer_norm",
                                           "outer_product_mean",
                                           "relative_position",
                                           "relative_position_bias",
                                           "rms_norm",
                                           "rotary",
                                           "swiglu",
                                           "tied_row_attention",
                                           "top_k",
                                           "transition",
                                           "triangle_multiplication"};

// What case.json says a reader sees, of what is counted here. What it does not mention may be there (a head's GELU).
std::map<std::string, int> wanted_structures(const CorpusCase& c) {
  std::map<std::string, int> wanted;
  const auto& contains = c.about["contains"];
  for (const std::string& name : kCounted)
    if (contains.contains(name) && contains[name].is_number_integer()) wanted[name] = contains[name];
  return wanted;
}

std::map<std::string, int> found_structures(Graph& graph, const std::map<std::string, int>& wanted) {
  PipelineOptions options;
  options.verify = true;
  ConstantStore constants;
  auto report = run_pipeline(graph, options, constants);
  EXPECT_TRUE(report) << to_string(report.error());
  StructureSums all = report->structures;
  std::map<std::string, int> found;
  for (const auto& entry : wanted) found[entry.first] = all[entry.first];
  return found;
}

void expect_structures(const CorpusCase& c) {
  auto module = onnx::read_module(c.model());
  ASSERT_TRUE(module) << c.name << ": " << to_string(module.error());
  for (size_t set = 0; set < c.num_sets(); ++set) {
    const std::string place = c.name + ", set " + std::to_string(set);
    auto graph = specialised(*module, c.inputs(set));
    ASSERT_TRUE(graph) << place << ": " << to_string(graph.error());
    for (uint64_t seed = 0; seed <= kNumMutations; ++seed) {
      Graph changed = *graph;
      if (seed > 0) {
        auto mutant = mutated(*graph, seed);
        ASSERT_TRUE(mutant) << place << ": " << to_string(mutant.error());
        changed = *std::move(mutant);
      }
      const auto wanted = wanted_structures(c), found = found_structures(changed, wanted);
      EXPECT_EQ(found, wanted) << place << ", mutation " << seed;
      if (found != wanted) return;
    }
  }
}

class Structures : public testing::TestWithParam<std::string> {};

TEST_P(Structures, AreCountedAsCaseJsonSays) {
  const auto cases = corpus_cases({GetParam()});
  if (cases.empty()) GTEST_SKIP() << corpus_is_absent();
  for (const CorpusCase& c : cases) {
    SCOPED_TRACE(c.name);
    expect_structures(c);
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, Structures, testing::ValuesIn(kCorpusGroups),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace plica::test
