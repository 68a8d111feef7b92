#include <optional>

#include "graph/passes/passes.h"
#include "graph/passes/predicates.h"
#include "graph/passes/rules.h"

namespace plica {
namespace {

// The shapes of one outer product: a (B, S, N, C1), b (B, S, M, C2).
struct Sizes {
  int64_t batch, sequences, rows, left, columns, right;
};

std::optional<Sizes> sizes_of(Match& m) {
  const Shape &a = m.shape("a"), &b = m.shape("b");
  if (!is_float_value(m, "a") || a.size() != 4 || b.size() != 4 || a[0] != b[0] || a[1] != b[1]) return std::nullopt;
  return Sizes{a[0], a[1], a[2], a[3], b[2], b[3]};
}

// The rows of b may have been flat before: its sizes are those that the product is cut into.
bool is_outer_product(Match& m) {
  const Shape &a = m.shape("a"), apart = m.list("$apart");
  if (!is_float_value(m, "a") || a.size() != 4 || apart.size() != 5) return false;
  const int64_t batch = a[0], sequences = a[1], rows = a[2], left = a[3], columns = apart[3], right = apart[4];
  m.set("$rows", Shape{batch, sequences, columns, right});
  return m.list("$a") == Shape{batch, rows * left, sequences} &&
         m.list("$b") == Shape{batch, sequences, columns * right} &&
         apart == Shape{batch, rows, left, columns, right} &&
         m.list("$flat") == Shape{batch, rows, columns, left * right} && m.shape("w").size() == 2;
}

// A divisor of the outer products (B, N, M, 1, 1) as one of the result.
bool is_normed_outer_product(Match& m) {
  const Shape& n = m.shape("n");
  if (!is_outer_product(m) || n.size() < 2 || n.end()[-1] != 1 || n.end()[-2] != 1) return false;
  m.set("$norm", Shape(n.begin(), n.end() - 1));
  return true;
}

bool is_broadcast_product(Match& m) {
  const auto s = sizes_of(m);
  return s && m.list("$a") == Shape{s->batch, s->sequences, s->rows, 1, s->left, 1} &&
         m.list("$b") == Shape{s->batch, s->sequences, 1, s->columns, 1, s->right} &&
         m.list("$flat") == Shape{s->batch, s->rows, s->columns, s->left * s->right} && m.shape("w").size() == 2;
}

bool is_mean_of_products(Match& m) {
  if (!is_broadcast_product(m) || m.shape("a")[1] == 0) return false;
  m.set("$scale", 1.0 / static_cast<double>(m.shape("a")[1]));
  return true;
}

bool n_is_one_wide(Match& m) { return !m.shape("n").empty() && m.shape("n").back() == 1; }
bool b_is_vector(Match& m) { return is_vector_of_last_axis(m, "c", "y"); }
bool r_is_whole(Match& m) { return are_alike(m, "r", "y"); }

// The product over sequences as a loader writes the Einsum bsih,bsjk->bijhk, or by broadcasting; then its divisor, bias
// and residual one after the other.
constexpr Rule kRules[] = {
    {"outer_product",
     R"(p = MatMul(Reshape(Transpose(a) {perm=[0,2,3,1]}) {shape=$a}, Reshape(b) {shape=$b})
        o = Transpose(Reshape(p) {shape=$apart}) {perm=[0,1,3,2,4]}
        y = MatMul(Reshape(o) {shape=$flat}, w))",
     "y = OuterProductMean(a, Reshape(b) {shape=$rows}, w)", is_outer_product},
    {"outer_product_normed",
     R"(p = MatMul(Reshape(Transpose(a) {perm=[0,2,3,1]}) {shape=$a}, Reshape(b) {shape=$b})
        o = Transpose(Reshape(p) {shape=$apart}) {perm=[0,1,3,2,4]}
        y = MatMul(Reshape(Div(o, n)) {shape=$flat}, w))",
     "y = OuterProductMean(a, Reshape(b) {shape=$rows}, w, _, Reshape(n) {shape=$norm})", is_normed_outer_product},
    {"outer_product_scaled",
     R"(p = MatMul(Reshape(Transpose(a) {perm=[0,2,3,1]}) {shape=$a}, Reshape(b) {shape=$b})
        o = Transpose(Reshape(p) {shape=$apart}) {perm=[0,1,3,2,4]}
        y = MatMul(Reshape(Mul(o, $s)) {shape=$flat}, w))",
     "y = OuterProductMean(a, Reshape(b) {shape=$rows}, w) {scale=$s}", is_outer_product},
    {"outer_product_flat_normed",
     R"(p = MatMul(Reshape(Transpose(a) {perm=[0,2,3,1]}) {shape=$a}, Reshape(b) {shape=$b})
        o = Transpose(Reshape(p) {shape=$apart}) {perm=[0,1,3,2,4]}
        y = MatMul(Div(Reshape(o) {shape=$flat}, n), w))",
     "y = OuterProductMean(a, Reshape(b) {shape=$rows}, w, _, n)",
     [](Match& m) { return is_outer_product(m) && n_is_one_wide(m); }},
    {"outer_product_flat_scaled",
     R"(p = MatMul(Reshape(Transpose(a) {perm=[0,2,3,1]}) {shape=$a}, Reshape(b) {shape=$b})
        o = Transpose(Reshape(p) {shape=$apart}) {perm=[0,1,3,2,4]}
        y = MatMul(Mul(Reshape(o) {shape=$flat}, $s), w))",
     "y = OuterProductMean(a, Reshape(b) {shape=$rows}, w) {scale=$s}", is_outer_product},
    {"mean_of_products",
     R"(p = Reduce(Mul(Reshape(a) {shape=$a}, Reshape(b) {shape=$b})) {kind=mean, axes=[1], keepdims=false}
        y = MatMul(Reshape(p) {shape=$flat}, w))",
     "y = OuterProductMean(a, b, w) {scale=$scale}", is_mean_of_products},
    {"sum_of_products",
     R"(p = Reduce(Mul(Reshape(a) {shape=$a}, Reshape(b) {shape=$b})) {kind=sum, axes=[1], keepdims=false}
        y = MatMul(Reshape(p) {shape=$flat}, w))",
     "y = OuterProductMean(a, b, w)", is_broadcast_product},
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
  return apply_rules(graph, rules);
}

}  // namespace plica
