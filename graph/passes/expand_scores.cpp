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

bool s_is_plain_scores(Match& m) {
  const NodeId scores = m.graph().producer_of(m.value("s"), scores_op);
  return scores != kNone && m.graph().node(scores).inputs[2] == kNone && m.graph().node(scores).inputs[3] == kNone;
}

// What is left of scores under a softmax: their weights have other readers than one product, or the scores a cap.
constexpr Rule kWeights[] = {
    {"weights", "w = Softmax(s)", "w = Softmax(s) {attention=true}", s_is_plain_scores},
    {"weights_masked", "w = Softmax(Scores(q, k, b?, m?) {scale=$s, cap=$c, fill=$f})",
     "w = Softmax(Scores(q, k) {scale=$s, cap=$c}, b, m) {fill=$f, attention=true}"},
    {"weights_guarded",
     R"(w = Softmax(s, b?, m?) {fill=$f, attention=true}
        y = Where(IsNaN(w), 0, w))",
     "y = Softmax(s, b, m) {fill=$f, zero_nan=true, attention=true}"},
};

constexpr Rule kRules[] = {
    {"scores_with_bool_mask", "y = Scores(q, k, b?, m) {scale=$s, cap=$c, fill=$f}",
     "y = Where(m, Scores(q, k, b) {scale=$s, cap=$c}, $f)", m_is_bool},
    {"scores_with_float_mask", "y = Scores(q, k, b?, m) {scale=$s, cap=$c, fill=$f}",
     "y = Add(Scores(q, k, b) {scale=$s, cap=$c}, m)"},
    {"scores_with_bias", "y = Scores(q, k, b) {scale=$s, cap=$c}", "y = Add(Scores(q, k) {scale=$s, cap=$c}, b)"},
    {"plain_scores", "y = Scores(q, k) {scale=$s}", "y = MatMul(q, Transpose(k) {perm=$p}) {alpha=$s}", swap_k},
    {"capped_scores", "y = Scores(q, k) {scale=$s, cap=$c}",
     "y = Mul(Tanh(MatMul(q, Transpose(k) {perm=$p}) {alpha=$s/$c}), $c)", swap_k},
};

}  // namespace

const std::span<const Rule> expand_scores_rules = kRules;
const std::span<const Rule> expand_scores_weights_rules = kWeights;

// Scores that no rule made into Attention become products and element-wise steps again; under a softmax they leave it their
// bias and mask.
Result<int> expand_scores(Graph& graph, ConstantStore&) {
  static const Result<RuleSet> weights = RuleSet::parse(kWeights);
  static const Result<RuleSet> rules = RuleSet::parse(kRules);
  PLICA_TRY(const int num_weights, apply_rules(graph, weights));
  PLICA_TRY(const int num_expanded, apply_rules(graph, rules));
  return num_weights + num_expanded;
}

}  // namespace plica
