#include "graph/passes/passes.h"
#include "graph/passes/predicates.h"
#include "graph/passes/rules.h"

namespace plica {
namespace {

bool b_is_vector(Match& m) { return is_float_value(m, "y") && is_vector_of_last_axis(m, "b", "y"); }
bool has_float_y(Match& m) { return is_float_value(m, "y"); }

// A whole matrix, not a factor or summand that broadcasts: those are cheaper in the step that reads y.
bool g_is_whole(Match& m) { return has_float_y(m) && are_alike(m, "g", "y"); }
bool r_is_whole(Match& m) { return has_float_y(m) && are_alike(m, "r", "y"); }

// The Reshape makes one axis of the last ones of x, transposed, and the Transpose behind the product permutes those before it.
bool permutes_rows(Match& m) {
  const std::vector<int64_t>&inner = m.list("$p"), &outer = m.list("$q");
  const Shape &x = m.shape("x"), &merged = m.list("$to");
  const size_t last = merged.size() - 1;
  if (m.shape("w").size() != 2 || merged.size() > x.size() || outer[last] != static_cast<int64_t>(last)) return false;
  std::vector<int64_t> perm;
  Shape shape;
  for (size_t i = 0; i < last; ++i) {
    if (merged[i] != x[static_cast<size_t>(inner[i])]) return false;
    perm.push_back(inner[static_cast<size_t>(outer[i])]);
    shape.push_back(merged[static_cast<size_t>(outer[i])]);
  }
  perm.insert(perm.end(), inner.begin() + static_cast<std::ptrdiff_t>(last), inner.end());
  shape.push_back(merged[last]);
  m.set("$r", std::move(perm));
  m.set("$shape", std::move(shape));
  return true;
}

// A product absorbs what is done to its result, in the order in which its epilogue does it.
constexpr Rule kRules[] = {
    {"alpha", "y = Mul(MatMul(a, w) {alpha=$s}, $a)", "y = MatMul(a, w) {alpha=$s*$a}", has_float_y},
    {"bias", "y = Add(MatMul(a, w) {alpha=$s}, b)", "y = MatMul(a, w, b) {alpha=$s}", b_is_vector},
    {"relu", "y = Relu(MatMul(a, w, b?) {alpha=$s})", "y = MatMul(a, w, b) {alpha=$s, activation=relu}", has_float_y},
    {"gelu", "y = Gelu(MatMul(a, w, b?) {alpha=$s})", "y = MatMul(a, w, b) {alpha=$s, activation=gelu}", has_float_y},
    {"gelu_tanh", "y = GeluTanh(MatMul(a, w, b?) {alpha=$s})", "y = MatMul(a, w, b) {alpha=$s, activation=gelu_tanh}",
     has_float_y},
    {"silu", "y = Silu(MatMul(a, w, b?) {alpha=$s})", "y = MatMul(a, w, b) {alpha=$s, activation=silu}", has_float_y},
    {"gate_sigmoid", "y = Mul(MatMul(a, w, b?) {alpha=$s, activation=$f}, Sigmoid(g))",
     "y = MatMul(a, w, b, g) {alpha=$s, activation=$f, gate_sigmoid=true}", g_is_whole},
    {"sigmoid", "y = Sigmoid(MatMul(a, w, b?) {alpha=$s})", "y = MatMul(a, w, b) {alpha=$s, activation=sigmoid}",
     has_float_y},
    {"tanh", "y = Tanh(MatMul(a, w, b?) {alpha=$s})", "y = MatMul(a, w, b) {alpha=$s, activation=tanh}", has_float_y},
    {"gate", "y = Mul(MatMul(a, w, b?) {alpha=$s, activation=$f}, g)",
     "y = MatMul(a, w, b, g) {alpha=$s, activation=$f}", g_is_whole},
    {"rows_behind_product",
     R"(a = Reshape(Transpose(x) {perm=$p}) {shape=$to}
        y = Transpose(MatMul(a, w, b?) {alpha=$s, activation=$f}) {perm=$q})",
     "y = MatMul(Reshape(Transpose(x) {perm=$r}) {shape=$shape}, w, b) {alpha=$s, activation=$f}", permutes_rows},
    {"residual", "y = Add(MatMul(a, w, b?, g?) {alpha=$s, activation=$f, gate_sigmoid=$z}, r)",
     "y = MatMul(a, w, b, g, r) {alpha=$s, activation=$f, gate_sigmoid=$z}", r_is_whole},
};

}  // namespace

const std::span<const Rule> fuse_linear_rules = kRules;

// Bias, activation, gate and residual as the epilogue of their matrix product.
Result<int> fuse_linear(Graph& graph, ConstantStore&) {
  static const Result<RuleSet> rules = RuleSet::parse(kRules);
  return apply_rules(graph, rules);
}

}  // namespace plica
