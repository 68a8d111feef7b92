#include "graph/passes/outer_products.h"
#include "graph/passes/passes.h"
#include "graph/passes/predicates.h"
#include "graph/passes/rules.h"

namespace plica {
namespace {

bool n_is_one_wide(Match& m) { return !m.shape("n").empty() && m.shape("n").back() == 1; }
bool b_is_vector(Match& m) { return is_vector_of_last_axis(m, "c", "y"); }
bool r_is_whole(Match& m) { return are_alike(m, "r", "y"); }

// A Reshape of the products, which leaves the last axis alone.
bool keeps_columns(Match& m) {
  const Shape &o = m.shape("o"), &to = m.list("$to");
  m.set("$os", Shape(o));
  return m.graph().producer_of(m.value("o"), outer_product_mean_op) != kNone && !to.empty() && to.back() == o.back();
}

bool keeps_columns_of_vector(Match& m) { return keeps_columns(m) && b_is_vector(m); }
bool keeps_columns_of_residual(Match& m) { return keeps_columns(m) && r_is_whole(m); }

// A divisor of all rows.
bool keeps_columns_of_norm(Match& m) {
  Shape wanted = m.shape("y"), norm = m.shape("o");
  wanted.back() = norm.back() = 1;
  m.set("$ns", std::move(norm));
  return keeps_columns(m) && m.shape("n") == wanted;
}

// The products take their divisor, scale, bias and residual one after the other.
constexpr Rule kRules[] = {
    {"reshape_before_norm", "y = Div(Reshape(o) {shape=$to}, n)",
     "y = Reshape(Div(o, Reshape(n) {shape=$ns})) {shape=$to}", keeps_columns_of_norm},
    {"reshape_before_scale", "y = Mul(Reshape(o) {shape=$to}, $c)", "y = Reshape(Mul(o, $c)) {shape=$to}",
     keeps_columns},
    {"reshape_before_bias", "y = Add(Reshape(o) {shape=$to}, c)", "y = Reshape(Add(o, c)) {shape=$to}",
     keeps_columns_of_vector},
    {"reshape_before_residual", "y = Add(Reshape(o) {shape=$to}, r)",
     "y = Reshape(Add(o, Reshape(r) {shape=$os})) {shape=$to}", keeps_columns_of_residual},
    {"norm_after", "y = Div(OuterProductMean(a, b, w) {scale=$s}, n)", "y = OuterProductMean(a, b, w, _, n) {scale=$s}",
     n_is_one_wide},
    {"scale_after", "y = Mul(OuterProductMean(a, b, w) {scale=$s}, $c)", "y = OuterProductMean(a, b, w) {scale=$s*$c}"},
    {"bias", "y = Add(OuterProductMean(a, b, w, _, n?) {scale=$s}, c)",
     "y = OuterProductMean(a, b, w, c, n) {scale=$s}", b_is_vector},
    {"residual", "y = Add(OuterProductMean(a, b, w, c?, n?) {scale=$s}, r)",
     "y = OuterProductMean(a, b, w, c, n, r) {scale=$s}", r_is_whole},
};

}  // namespace

const std::span<const Rule> fuse_outer_product_mean_rules = kRules;

// The outer product mean, whose products of all pairs are never held at once.
Result<int> fuse_outer_product_mean(Graph& graph, ConstantStore&) {
  static const Result<RuleSet> rules = RuleSet::parse(kRules);
  PLICA_TRY(const int num_found, find_outer_products(graph));
  PLICA_TRY(const int num_applied, apply_rules(graph, rules));
  return num_found + num_applied;
}

}  // namespace plica
