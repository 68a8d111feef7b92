#include <algorithm>
#include <cmath>

#include "graph/passes/passes.h"
#include "graph/passes/predicates.h"
#include "graph/passes/rules.h"
#include "ops/pointwise.h"

namespace plica {
namespace {

bool has_float_x(Match& m) { return is_float_value(m, "x"); }
bool g_is_vector(Match& m) { return is_vector_of_last_axis(m, "g", "y"); }
bool b_is_vector(Match& m) { return is_vector_of_last_axis(m, "b", "y"); }
bool g_and_b_are_vectors(Match& m) { return has_float_x(m) && g_is_vector(m) && b_is_vector(m); }

// x / (|x| * c), where c^2 makes a mean of the sum of squares.
bool is_root_mean_square(Match& m) {
  const double c = m.number("$c"), count = static_cast<double>(m.shape("x").back());
  return has_float_x(m) && c > 0 && std::abs(c * c * count - 1) < 1e-6;
}

// x / |x| * c.
bool is_root_count(Match& m) {
  const double c = m.number("$c"), count = static_cast<double>(m.shape("x").back());
  return has_float_x(m) && c > 0 && std::abs(c * c / count - 1) < 1e-6;
}
bool is_root_count_and_g_is_vector(Match& m) { return is_root_count(m) && g_is_vector(m); }

// Whether all that reads the norm `n` is a product with a vector: norms of one x by several gammas, whose common part an exporter's
// single steps share, become one norm each.
bool gammas_are_vectors(Match& m) {
  const Graph& graph = m.graph();
  const ValueId n = m.value("n");
  const auto is_vector = [&](ValueId id) { return graph.type(id).shape == Shape{m.shape("n").back()}; };
  const auto& users = graph.value(n).users;
  return g_is_vector(m) && !graph.is_output(n) && std::all_of(users.begin(), users.end(), [&](NodeId user) {
           const Node& node = graph.node(user);
           return node.op == &pointwise_op(ops::Fn::kMul) && is_vector(node.inputs[node.inputs[0] == n ? 1 : 0]);
         });
}

// Whether rules may leave what they match to other readers: a mean that is read elsewhere is computed for them.
constexpr bool kShares = true;

// Moments over the last axis, the mean taken off before the squares are: all else is another function.
constexpr Rule kRules[] = {
    {"layer_norm",
     R"(d = Sub(x, Reduce(x) {kind=mean, axes=[-1]})
        v = Reduce(Mul(d, d)) {kind=mean, axes=[-1]}
        y = Div(d, Sqrt(Add(v, $eps))))",
     "y = LayerNorm(x) {eps=$eps}", has_float_x, kShares},
    {"layer_norm_tf",  // x * g / s + (b - mean * g / s)
     R"(m = Reduce(x) {kind=mean, axes=[-1]}
        d = Sub(x, m)
        v = Reduce(Mul(d, d)) {kind=mean, axes=[-1]}
        r = Div(g, Sqrt(Add(v, $eps)))
        y = Add(Mul(x, r), Sub(b, Mul(m, r))))",
     "y = LayerNorm(x, g, b) {eps=$eps}", g_and_b_are_vectors, kShares},
    {"layer_norm_gamma",
     R"(n = LayerNorm(x) {eps=$eps}
        y = Mul(n, g))",
     "y = LayerNorm(x, g) {eps=$eps}", gammas_are_vectors, kShares},
    {"layer_norm_gamma_first",  // gamma on the deviation, before the division
     R"(d = Sub(x, Reduce(x) {kind=mean, axes=[-1]})
        v = Reduce(Mul(d, d)) {kind=mean, axes=[-1]}
        y = Div(Mul(d, g), Sqrt(Add(v, $eps))))",
     "y = LayerNorm(x, g) {eps=$eps}", g_is_vector, kShares},
    {"layer_norm_beta", "y = Add(LayerNorm(x, g?) {eps=$eps}, b)", "y = LayerNorm(x, g, b) {eps=$eps}", b_is_vector},
    {"rms_norm", "y = Div(x, Sqrt(Add(Reduce(Mul(x, x)) {kind=mean, axes=[-1]}, $eps)))", "y = RmsNorm(x) {eps=$eps}",
     has_float_x, kShares},
    {"rms_norm_of_length", "y = Div(x, Mul(Sqrt(Reduce(Mul(x, x)) {axes=[-1]}), $c))", "y = RmsNorm(x) {eps=0}",
     is_root_mean_square, kShares},
    {"rms_norm_of_direction", "y = Mul(Div(x, Sqrt(Reduce(Mul(x, x)) {axes=[-1]})), $c)", "y = RmsNorm(x) {eps=0}",
     is_root_count, kShares},
    {"rms_norm_of_direction_gamma", "y = Mul(Mul(Div(x, Sqrt(Reduce(Mul(x, x)) {axes=[-1]})), g), $c)",
     "y = RmsNorm(x, g) {eps=0}", is_root_count_and_g_is_vector, kShares},
    {"rms_norm_gamma",
     R"(n = RmsNorm(x) {eps=$eps}
        y = Mul(n, g))",
     "y = RmsNorm(x, g) {eps=$eps}", gammas_are_vectors, kShares},
    {"rms_norm_gamma_first", "y = Div(Mul(x, g), Sqrt(Add(Reduce(Mul(x, x)) {kind=mean, axes=[-1]}, $eps)))",
     "y = RmsNorm(x, g) {eps=$eps}", g_is_vector, kShares},
};

}  // namespace

const std::span<const Rule> fuse_norm_rules = kRules;

// Layer norm and RMS norm out of their parts; gamma and beta are absorbed one after the other.
Result<int> fuse_norm(Graph& graph, ConstantStore&) {
  static const Result<RuleSet> rules = RuleSet::parse(kRules);
  return apply_rules(graph, rules);
}

}  // namespace plica
