#include "graph/passes/passes.h"
#include "graph/passes/predicates.h"
#include "graph/passes/rules.h"

namespace plica {
namespace {

bool has_float_x(Match& m) { return is_float_value(m, "x"); }

// Behind `canonicalise`, which moves the factor 0.5 outward and, but for 16 bits, writes x / sqrt(2) as a product.
constexpr Rule kRules[] = {
    {"gelu", "y = Mul(Mul(x, Add(Erf(Mul(x, 0.70710678)), 1)), 0.5)", "y = Gelu(x)", has_float_x},
    {"gelu_div", "y = Mul(Mul(x, Add(Erf(Div(x, 1.41421356)), 1)), 0.5)", "y = Gelu(x)", has_float_x},
    {"gelu_tanh",
     R"(u = Mul(Add(x, Mul(Mul(x, Mul(x, x)), 0.044715)), 0.79788456)
        y = Mul(Mul(x, Add(Tanh(u), 1)), 0.5))",
     "y = GeluTanh(x)", has_float_x},
    {"gelu_tanh_factored",  // x (1 + 0.044715 x^2)
     R"(u = Mul(Mul(x, Add(Mul(Mul(x, x), 0.044715), 1)), 0.79788456)
        y = Mul(Mul(x, Add(Tanh(u), 1)), 0.5))",
     "y = GeluTanh(x)", has_float_x},
    {"silu", "y = Mul(x, Sigmoid(x))", "y = Silu(x)", has_float_x},
};

}  // namespace

const std::span<const Rule> fuse_activation_rules = kRules;

// Activations out of their parts.
Result<int> fuse_activation(Graph& graph, ConstantStore&) {
  static const Result<RuleSet> rules = RuleSet::parse(kRules);
  return apply_rules(graph, rules);
}

}  // namespace plica
