#include "graph/passes/passes.h"
#include "graph/passes/predicates.h"
#include "graph/passes/rules.h"

namespace plica {
namespace {

bool has_float_x(Match& m) { return is_float_value(m, "x"); }
bool g_is_vector(Match& m) { return is_vector_of_last_axis(m, "g", "y"); }
bool b_is_vector(Match& m) { return is_vector_of_last_axis(m, "b", "y"); }
bool g_and_b_are_vectors(Match& m) { return has_float_x(m) && g_is_vector(m) && b_is_vector(m); }

// Moments over the last axis, the mean taken off before the squares are: all else is another function.
constexpr Rule kRules[] = {
    {"layer_norm",
     R"(d = Sub(x, Reduce(x) {kind=mean, axes=[-1]})
        v = Reduce(Mul(d, d)) {kind=mean, axes=[-1]}
        y = Div(d, Sqrt(Add(v, $eps))))",
     "y = LayerNorm(x) {eps=$eps}", has_float_x},
    {"layer_norm_tf",  // x * g / s + (b - mean * g / s)
     R"(m = Reduce(x) {kind=mean, axes=[-1]}
        d = Sub(x, m)
        v = Reduce(Mul(d, d)) {kind=mean, axes=[-1]}
        r = Div(g, Sqrt(Add(v, $eps)))
        y = Add(Mul(x, r), Sub(b, Mul(m, r))))",
     "y = LayerNorm(x, g, b) {eps=$eps}", g_and_b_are_vectors},
    {"layer_norm_gamma", "y = Mul(LayerNorm(x) {eps=$eps}, g)", "y = LayerNorm(x, g) {eps=$eps}", g_is_vector},
    {"layer_norm_gamma_first",  // gamma on the deviation, before the division
     R"(d = Sub(x, Reduce(x) {kind=mean, axes=[-1]})
        v = Reduce(Mul(d, d)) {kind=mean, axes=[-1]}
        y = Div(Mul(d, g), Sqrt(Add(v, $eps))))",
     "y = LayerNorm(x, g) {eps=$eps}", g_is_vector},
    {"layer_norm_beta", "y = Add(LayerNorm(x, g?) {eps=$eps}, b)", "y = LayerNorm(x, g, b) {eps=$eps}", b_is_vector},
    {"rms_norm", "y = Div(x, Sqrt(Add(Reduce(Mul(x, x)) {kind=mean, axes=[-1]}, $eps)))", "y = RmsNorm(x) {eps=$eps}",
     has_float_x},
    {"rms_norm_gamma", "y = Mul(RmsNorm(x) {eps=$eps}, g)", "y = RmsNorm(x, g) {eps=$eps}", g_is_vector},
    {"rms_norm_gamma_first", "y = Div(Mul(x, g), Sqrt(Add(Reduce(Mul(x, x)) {kind=mean, axes=[-1]}, $eps)))",
     "y = RmsNorm(x, g) {eps=$eps}", g_is_vector},
};

}  // namespace

const std::span<const Rule> fuse_norm_rules = kRules;

// Layer norm and RMS norm out of their parts; gamma and beta are absorbed one after the other.
Result<int> fuse_norm(Graph& graph, ConstantStore&) {
  static const Result<RuleSet> rules = RuleSet::parse(kRules);
  return apply_rules(graph, rules);
}

}  // namespace plica
