#include <limits>
#include <numeric>

#include "graph/passes/attention_paths.h"
#include "graph/passes/passes.h"
#include "graph/passes/predicates.h"
#include "graph/passes/rules.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

// The Transpose that exchanges the last two of `rank` axes.
std::vector<int64_t> exchange(size_t rank) {
  std::vector<int64_t> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[rank - 1], perm[rank - 2]);
  return perm;
}

bool begins_scores(Match& m) {
  m.set("$p", exchange(m.shape("t").size()));
  return is_float_value(m, "q") && softmax_axis(m.graph(), m.value("y")) == -1;
}

bool begins_scores_of_columns(Match& m) {
  m.set("$p", exchange(m.shape("t").size()));
  m.set("$q", exchange(m.shape("y").size()));
  return is_float_value(m, "q") && softmax_axis(m.graph(), m.value("y")) == -2;
}

bool s_is_scores(Match& m) { return m.graph().producer_of(m.value("s"), scores_op) != kNone; }

bool s_is_scores_or_transposed(Match& m) {
  const NodeId transpose = m.graph().producer_of(m.value("s"), transpose_op);
  if (transpose == kNone) return s_is_scores(m);
  return m.graph().producer_of(m.graph().node(transpose).inputs[0], scores_op) != kNone;
}

bool w_is_weights(Match& m) {
  const NodeId softmax = m.graph().producer_of(m.value("w"), softmax_op);
  return softmax != kNone && m.graph().producer_of(m.graph().node(softmax).inputs[0], scores_op) != kNone;
}

bool composes_scores(Match& m) { return s_is_scores(m) && compose_perms(m); }
bool composes_weights(Match& m) { return w_is_weights(m) && compose_perms(m); }

// What broadcasts to transposed scores, under as many axes.
bool aligns(Match& m, std::string_view operand) {
  if (!s_is_scores(m) || m.shape("y").size() != m.shape("s").size()) return false;
  Shape full = m.shape(operand);
  full.insert(full.begin(), m.shape("s").size() - full.size(), 1);
  m.set("$full", std::move(full));
  m.set("$inv", inverse_perm(m.list("$p")));
  return true;
}
bool aligns_b(Match& m) { return aligns(m, "b"); }
bool aligns_m(Match& m) { return aligns(m, "m"); }

bool keeps_keys_last(Match& m) {
  const std::vector<int64_t>& perm = m.list("$p");
  return s_is_scores(m) && perm.back() == static_cast<int64_t>(perm.size()) - 1;
}

// The product sums over the keys, which stand in front of the rows.
bool weighs_from_the_right(Match& m) {
  std::vector<int64_t> perm = m.list("$p");
  const size_t rank = perm.size();
  if (!w_is_weights(m) || m.shape("v").size() != rank || m.shape("y").size() != rank ||
      perm[rank - 2] != static_cast<int64_t>(rank) - 1)
    return false;
  std::swap(perm[rank - 1], perm[rank - 2]);
  m.set("$r", std::move(perm));
  m.set("$x", exchange(rank));
  return true;
}

bool y_feeds_scores(Match& m) { return feeds_scores(m.graph(), m.value("y")); }
bool y_feeds_product(Match& m) { return feeds_product(m.graph(), m.value("y")); }
bool b_is_as_q(Match& m) { return m.type("b").dtype == m.type("q").dtype; }
bool b_is_float_mask(Match& m) { return b_is_as_q(m) && m.type("m").dtype == m.type("q").dtype; }
bool m_and_n_are_as_q(Match& m) { return b_is_float_mask(m) && m.type("n").dtype == m.type("q").dtype; }

// Elements of a sum of two addends and of the one beside it.
int64_t size_of_addends(Match& m, std::string_view a, std::string_view b, std::string_view beside) {
  const Result<Shape> sum = broadcast(m.shape(a), m.shape(b));
  return sum ? num_elements(*sum) + num_elements(m.shape(beside)) : std::numeric_limits<int64_t>::max();
}

// Of three addends two are summed before, in the file's order where that costs nothing: the last one is often a mask of such large
// numbers that the others round away beside it, and rows that are masked as a whole show it.
bool first_two_merge(Match& m) {
  return m_and_n_are_as_q(m) && size_of_addends(m, "b", "m", "n") <= size_of_addends(m, "b", "n", "m");
}

// The same for all queries: kernels read that once a tile of keys.
bool b_repeats_rows(Match& m) {
  const Shape& b = m.shape("b");
  return b.size() < 2 || b.end()[-2] == 1;
}

// A Reshape that leaves the last two axes alone.
bool keeps_matrices(const Shape& from, const Shape& to) {
  return from.size() >= 2 && to.size() >= 2 && std::equal(from.end() - 2, from.end(), to.end() - 2);
}

// The leading axes of `to` in front of the last two of `of`.
Shape with_leading(const Shape& to, const Shape& of) {
  Shape shape(to.begin(), to.end() - 2);
  shape.insert(shape.end(), of.end() - 2, of.end());
  return shape;
}

bool same_leading(const Shape& a, const Shape& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end() - 2, b.begin());
}

bool splits_batch_of_scores(Match& m) {
  const Shape &s = m.shape("s"), &to = m.list("$to");
  if (!keeps_matrices(s, to) || !same_leading(m.shape("q"), s) || !same_leading(m.shape("k"), s)) return false;
  m.set("$qs", with_leading(to, m.shape("q")));
  m.set("$ks", with_leading(to, m.shape("k")));
  return true;
}

// A Reshape that makes two axes of the rows: heads that share their keys, merged for one product.
bool splits_rows(const Shape& from, const Shape& to) {
  return from.size() >= 2 && to.size() == from.size() + 1 && std::equal(from.begin(), from.end() - 2, to.begin()) &&
         from.back() == to.back() && from.end()[-2] == to.end()[-3] * to.end()[-2];
}

// `matrices` under one axis more in front of their last two, of one element.
Shape for_all_heads(const Shape& matrices) {
  Shape shape = matrices;
  shape.insert(shape.end() - 2, 1);
  return shape;
}

bool splits_rows_of_scores(Match& m) {
  const Shape &s = m.shape("s"), &to = m.list("$to");
  if (!splits_rows(s, to) || !same_leading(m.shape("q"), s) || !same_leading(m.shape("k"), s)) return false;
  Shape rows(to);
  rows.back() = m.shape("q").back();
  m.set("$qs", std::move(rows));
  m.set("$ks", for_all_heads(m.shape("k")));
  return true;
}

bool merges_rows_of_weights(Match& m) {
  const Shape &w = m.shape("w"), &to = m.list("$to");
  if (!w_is_weights(m) || !splits_rows(to, w) || !same_leading(m.shape("v"), to)) return false;
  m.set("$vs", for_all_heads(m.shape("v")));
  m.set("$ys", Shape(m.shape("y")));
  return true;
}

bool keeps_rows(Match& m) {
  const Shape &s = m.shape("s"), &to = m.list("$to");
  return !to.empty() && !s.empty() && s.back() == to.back();
}

bool splits_batch_of_weights(Match& m) {
  const Shape &w = m.shape("w"), &to = m.list("$to");
  if (!w_is_weights(m) || !keeps_matrices(w, to) || !same_leading(to, m.shape("v"))) return false;
  m.set("$vs", with_leading(w, m.shape("v")));
  m.set("$ys", Shape(m.shape("y")));
  return true;
}

// A Transpose that leaves the last two axes alone.
bool permutes_batch_of_weights(Match& m) {
  const std::vector<int64_t>& perm = m.list("$p");
  const size_t rank = perm.size();
  if (rank < 3 || perm[rank - 1] != static_cast<int64_t>(rank) - 1 || perm[rank - 2] != static_cast<int64_t>(rank) - 2)
    return false;
  m.set("$inv", inverse_perm(perm));
  return w_is_weights(m) && m.shape("v").size() == rank;
}

bool gate_fits_transposed(Match& m) {
  m.set("$inv", inverse_perm(m.list("$p")));
  return are_alike(m, "g", "y");
}

bool gate_fits_merged(Match& m) {
  m.set("$inv", inverse_perm(m.list("$p")));
  m.set("$split", Shape(m.shape("t")));
  return are_alike(m, "g", "y");
}

// A product whose result a softmax reads becomes Scores.
constexpr Rule kBegin[] = {
    {"scores", "y = MatMul(q, t) {alpha=$a}", "y = Scores(q, Transpose(t) {perm=$p}) {scale=$a}", begins_scores},
    {"scores_of_columns", "y = MatMul(q, t) {alpha=$a}",
     "y = Transpose(Scores(Transpose(t) {perm=$p}, q) {scale=$a}) {perm=$q}", begins_scores_of_columns},
};

// Scores absorb scale, then bias, then mask; with a softmax and the values they are Attention; that absorbs its gate.
constexpr Rule kRules[] = {
    {"scale_before_transpose", "y = Transpose(Mul(x, $a)) {perm=$p}", "y = Mul(Transpose(x) {perm=$p}, $a)",
     y_feeds_scores},
    {"scale_before_reshape", "y = Reshape(Mul(x, $a)) {shape=$p}", "y = Mul(Reshape(x) {shape=$p}, $a)",
     y_feeds_scores},
    {"scale_before_slice", "y = Slice(Mul(x, $a)) {starts=$s, sizes=$n, steps=$t}",
     "y = Mul(Slice(x) {starts=$s, sizes=$n, steps=$t}, $a)", y_feeds_scores},
    {"scale_before_rotary", "y = Rotary(Mul(x, $a), c, s) {interleaved=$i}",
     "y = Mul(Rotary(x, c, s) {interleaved=$i}, $a)", y_feeds_scores},
    {"scale_of_q", "y = Scores(Mul(q, $a), k, b?, m?) {scale=$s, cap=$c, fill=$f}",
     "y = Scores(q, k, b, m) {scale=$s*$a, cap=$c, fill=$f}"},
    {"scale_of_k", "y = Scores(q, Mul(k, $a), b?, m?) {scale=$s, cap=$c, fill=$f}",
     "y = Scores(q, k, b, m) {scale=$s*$a, cap=$c, fill=$f}"},
    {"scale_after", "y = Mul(Scores(q, k) {scale=$s, cap=$c}, $a)", "y = Scores(q, k) {scale=$s*$a, cap=$c*$a}"},
    {"scale_after_div", "y = Div(Scores(q, k) {scale=$s, cap=$c}, $a)", "y = Scores(q, k) {scale=$s/$a, cap=$c/$a}"},
    {"cap", "y = Tanh(Scores(q, k) {scale=$s})", "y = Scores(q, k) {scale=$s, cap=1}"},
    {"subtracted", "y = Sub(s, b)", "y = Add(s, Neg(b))", s_is_scores_or_transposed},
    {"bias", "y = Add(Scores(q, k) {scale=$s, cap=$c}, b)", "y = Scores(q, k, b) {scale=$s, cap=$c}", b_is_as_q},
    {"float_mask", "y = Add(Scores(q, k, b) {scale=$s, cap=$c}, m)", "y = Scores(q, k, b, m) {scale=$s, cap=$c}",
     b_is_float_mask},
    {"first_two_addends", "y = Add(Scores(q, k, b, m) {scale=$s, cap=$c}, n)",
     "y = Scores(q, k, Add(b, m), n) {scale=$s, cap=$c}", first_two_merge},
    {"third_addend", "y = Add(Scores(q, k, b, m) {scale=$s, cap=$c}, n)",
     "y = Scores(q, k, Add(b, n), m) {scale=$s, cap=$c}", m_and_n_are_as_q},
    {"bool_mask", "y = Where(m, Scores(q, k, b?) {scale=$s, cap=$c}, $f)",
     "y = Scores(q, k, b, m) {scale=$s, cap=$c, fill=$f}"},
    {"bool_mask_out", "y = Where(m, $f, Scores(q, k, b?) {scale=$s, cap=$c})",
     "y = Scores(q, k, b, Not(m)) {scale=$s, cap=$c, fill=$f}"},
    {"bool_mask_over_addends", "y = Where(n, Scores(q, k, b, m) {scale=$s, cap=$c}, $f)",
     "y = Scores(q, k, Add(b, m), n) {scale=$s, cap=$c, fill=$f}", b_is_float_mask},
    {"bool_mask_out_over_addends", "y = Where(n, $f, Scores(q, k, b, m) {scale=$s, cap=$c})",
     "y = Scores(q, k, Add(b, m), Not(n)) {scale=$s, cap=$c, fill=$f}", b_is_float_mask},
    {"two_bool_masks", "y = Where(n, Scores(q, k, b?, m) {scale=$s, cap=$c, fill=$f}, $f)",
     "y = Scores(q, k, b, And(m, n)) {scale=$s, cap=$c, fill=$f}"},
    {"two_bool_masks_out", "y = Where(n, $f, Scores(q, k, b?, m) {scale=$s, cap=$c, fill=$f})",
     "y = Scores(q, k, b, And(m, Not(n))) {scale=$s, cap=$c, fill=$f}"},
    {"transpose_before_scale", "y = Mul(Transpose(s) {perm=$p}, $a)", "y = Transpose(Mul(s, $a)) {perm=$p}",
     s_is_scores},
    {"transpose_before_scale_div", "y = Div(Transpose(s) {perm=$p}, $a)", "y = Transpose(Div(s, $a)) {perm=$p}",
     s_is_scores},
    {"transpose_before_cap", "y = Tanh(Transpose(s) {perm=$p})", "y = Transpose(Tanh(s)) {perm=$p}", s_is_scores},
    {"transpose_before_bias", "y = Add(Transpose(s) {perm=$p}, b)",
     "y = Transpose(Add(s, Transpose(Reshape(b) {shape=$full}) {perm=$inv})) {perm=$p}", aligns_b},
    {"transpose_before_mask", "y = Where(m, Transpose(s) {perm=$p}, $f)",
     "y = Transpose(Where(Transpose(Reshape(m) {shape=$full}) {perm=$inv}, s, $f)) {perm=$p}", aligns_m},
    {"transpose_before_mask_out", "y = Where(m, $f, Transpose(s) {perm=$p})",
     "y = Transpose(Where(Transpose(Reshape(m) {shape=$full}) {perm=$inv}, $f, s)) {perm=$p}", aligns_m},
    {"transpose_before_softmax", "y = Softmax(Transpose(s) {perm=$p})", "y = Transpose(Softmax(s)) {perm=$p}",
     keeps_keys_last},
    {"transposes_of_scores", "y = Transpose(Transpose(s) {perm=$p}) {perm=$q}", "y = Transpose(s) {perm=$r}",
     composes_scores},
    {"transposes_of_weights", "y = Transpose(Transpose(w) {perm=$p}) {perm=$q}", "y = Transpose(w) {perm=$r}",
     composes_weights},
    {"batch_of_scores",
     R"(s = Scores(q, k) {scale=$s}
        y = Reshape(s) {shape=$to})",
     "y = Scores(Reshape(q) {shape=$qs}, Reshape(k) {shape=$ks}) {scale=$s}", splits_batch_of_scores},
    {"rows_of_scores",
     R"(s = Scores(q, k) {scale=$s}
        y = Reshape(s) {shape=$to})",
     "y = Scores(Reshape(q) {shape=$qs}, Reshape(k) {shape=$ks}) {scale=$s}", splits_rows_of_scores},
    {"batch_behind_scores",
     R"(s = Scores(q, k, b?, m?) {scale=$s, cap=$c, fill=$f}
        y = Softmax(Reshape(s) {shape=$to}))",
     "y = Reshape(Softmax(Scores(q, k, b, m) {scale=$s, cap=$c, fill=$f})) {shape=$to}", keeps_rows},
    {"batch_behind_weights", "y = MatMul(Reshape(w) {shape=$to}, v)",
     "y = Reshape(MatMul(w, Reshape(v) {shape=$vs})) {shape=$ys}", splits_batch_of_weights},
    {"rows_behind_weights", "y = MatMul(Reshape(w) {shape=$to}, v)",
     "y = Reshape(MatMul(w, Reshape(v) {shape=$vs})) {shape=$ys}", merges_rows_of_weights},
    {"transpose_behind_weights", "y = MatMul(Transpose(w) {perm=$p}, v)",
     "y = Transpose(MatMul(w, Transpose(v) {perm=$inv})) {perm=$p}", permutes_batch_of_weights},
    {"weights_on_the_right", "y = MatMul(v, Transpose(w) {perm=$p})",
     "y = Transpose(MatMul(Transpose(w) {perm=$r}, Transpose(v) {perm=$x})) {perm=$x}", weighs_from_the_right},
    {"attention", "y = MatMul(Softmax(Scores(q, k, b?, m?) {scale=$s, fill=$f}), v)",
     "y = Attention(q, k, v, b, m) {scale=$s, fill=$f}"},
    {"attention_guarded",
     R"(w = Softmax(Scores(q, k, b?, m?) {scale=$s, fill=$f})
        y = MatMul(Where(IsNaN(w), 0, w), v))",
     "y = Attention(q, k, v, b, m) {scale=$s, fill=$f, zero_rows=undefined}"},
    {"mask_of_keys", "y = Attention(q, k, v, b, _, g?) {scale=$s, fill=$f, zero_rows=$z, causal=$c}",
     "y = Attention(q, k, v, _, b, g) {scale=$s, fill=$f, zero_rows=$z, causal=$c}", b_repeats_rows},
    {"sigmoid_before_transpose", "y = Transpose(Sigmoid(x)) {perm=$p}", "y = Sigmoid(Transpose(x) {perm=$p})",
     y_feeds_product},
    {"sigmoid_before_reshape", "y = Reshape(Sigmoid(x)) {shape=$p}", "y = Sigmoid(Reshape(x) {shape=$p})",
     y_feeds_product},
    {"gate", "y = Mul(Attention(q, k, v, b?, m?) {scale=$s, fill=$f, zero_rows=$z, causal=$c}, Sigmoid(g))",
     "y = Attention(q, k, v, b, m, g) {scale=$s, fill=$f, zero_rows=$z, causal=$c}"},
    {"gate_behind_transpose",
     R"(o = Attention(q, k, v, b?, m?) {scale=$s, fill=$f, zero_rows=$z, causal=$c}
        y = Mul(Transpose(o) {perm=$p}, Sigmoid(g)))",
     R"(o2 = Attention(q, k, v, b, m, Transpose(g) {perm=$inv}) {scale=$s, fill=$f, zero_rows=$z, causal=$c}
        y = Transpose(o2) {perm=$p})",
     gate_fits_transposed},
    {"gate_behind_merge",
     R"(o = Attention(q, k, v, b?, m?) {scale=$s, fill=$f, zero_rows=$z, causal=$c}
        t = Transpose(o) {perm=$p}
        y = Mul(Reshape(t) {shape=$to}, Sigmoid(g)))",
     R"(h = Transpose(Reshape(g) {shape=$split}) {perm=$inv}
        o2 = Attention(q, k, v, b, m, h) {scale=$s, fill=$f, zero_rows=$z, causal=$c}
        y = Reshape(Transpose(o2) {perm=$p}) {shape=$to})",
     gate_fits_merged},
};

}  // namespace

const std::span<const Rule> fuse_attention_begin_rules = kBegin;
const std::span<const Rule> fuse_attention_rules = kRules;

// Attention in the spellings of all exporters, in small steps.
Result<int> fuse_attention(Graph& graph, ConstantStore&) {
  static const Result<RuleSet> begin = RuleSet::parse(fuse_attention_begin_rules);
  static const Result<RuleSet> rules = RuleSet::parse(fuse_attention_rules);
  PLICA_TRY(const int num_begun, apply_rules(graph, begin));
  PLICA_TRY(const int num_applied, apply_rules(graph, rules));
  return num_begun + num_applied;
}

}  // namespace plica
