#include <numeric>

#include "graph/passes/passes.h"
#include "graph/passes/rules.h"

namespace plica {
namespace {

bool m_is_bool(Match& m) { return m.type("m").dtype == DType::kBool; }

bool swap_k(Match& m) {
  std::vector<int64_t> swap(m.shape("k").size());
  std::iota(swap.begin(), swap.end(), 0);
  std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
  m.set("$p", std::move(swap));
  return true;
}

constexpr Rule kRules[] = {
    {"scores_with_bool_mask", "y = Scores(q, k, b?, m) {scale=$s, fill=$f}",
     "y = Where(m, Scores(q, k, b) {scale=$s}, $f)", m_is_bool},
    {"scores_with_float_mask", "y = Scores(q, k, b?, m) {scale=$s, fill=$f}", "y = Add(Scores(q, k, b) {scale=$s}, m)"},
    {"scores_with_bias", "y = Scores(q, k, b) {scale=$s}", "y = Add(Scores(q, k) {scale=$s}, b)"},
    {"plain_scores", "y = Scores(q, k) {scale=$s}", "y = MatMul(q, Transpose(k) {perm=$p}) {alpha=$s}", swap_k},
};

}  // namespace

const std::span<const Rule> expand_scores_rules = kRules;

// Scores that no rule made into Attention become products and element-wise steps again.
Result<int> expand_scores(Graph& graph, ConstantStore&) {
  static const Result<RuleSet> rules = RuleSet::parse(kRules);
  return apply_rules(graph, rules);
}

}  // namespace plica
