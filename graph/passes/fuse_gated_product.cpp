#include <algorithm>
#include <optional>

#include "graph/passes/known_values.h"
#include "graph/passes/passes.h"
#include "graph/patch.h"
#include "ops/gated_mat_mul.h"
#include "ops/pointwise.h"
#include "ops/transpose.h"
#include "runtime/core/dtype.h"

namespace plica {
namespace {

using Op = ops::GatedMatMul;
using ops::Activation;

// Sources up to this depth stay in a block's shared memory, beside the weights; rows are read in whole vectors.
constexpr int64_t kMostDepth = 128, kVector = 8;

constexpr std::pair<ops::Fn, Activation> kActivations[] = {{ops::Fn::kSigmoid, Activation::kSigmoid},
                                                           {ops::Fn::kSilu, Activation::kSilu},
                                                           {ops::Fn::kGelu, Activation::kGelu},
                                                           {ops::Fn::kGeluTanh, Activation::kGeluTanh},
                                                           {ops::Fn::kRelu, Activation::kRelu}};

// x @ weight + bias, weight (K, N) known.
struct Projection {
  ValueId x = kNone, weight = kNone, bias = kNone;
};

struct Gated {
  Projection value, gate;
  Activation activation = Activation::kSigmoid;
  ValueId mask = kNone;
};

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), known_(graph) {}

  // What the product at `root` is made of, where that is a projection, a gate and a mask at most, in any order.
  std::optional<Gated> find(NodeId root) const {
    const ValueId y = graph_.node(root).outputs[0];
    if (!is_float(graph_.type(y).dtype) || graph_.type(y).shape.size() < 2) return std::nullopt;
    std::vector<ValueId> factors;
    collect_factors(root, factors);
    if (factors.size() != 2 && factors.size() != 3) return std::nullopt;
    for (ValueId gate : factors)
      for (ValueId value : factors) {
        if (gate == value) continue;
        std::optional<Gated> gated = gated_by(value, gate);
        if (!gated || graph_.type(value).shape != graph_.type(y).shape) continue;
        for (ValueId mask : factors)
          if (mask != gate && mask != value) gated->mask = mask;
        if (gated->mask == kNone || is_mask(gated->mask, y)) return gated;
      }
    return std::nullopt;
  }

 private:
  // The factors of a product whose inner results nobody else reads.
  void collect_factors(NodeId node, std::vector<ValueId>& factors) const {
    for (ValueId input : graph_.node(node).inputs) {
      const NodeId inner = graph_.producer_of(input, pointwise_op(ops::Fn::kMul));
      if (inner != kNone && is_inner(input) && factors.size() < 3)
        collect_factors(inner, factors);
      else
        factors.push_back(input);
    }
  }

  bool is_inner(ValueId id) const { return graph_.value(id).users.size() == 1 && !graph_.is_output(id); }

  // The same factor for all columns of a row.
  bool is_mask(ValueId mask, ValueId y) const {
    const Shape &shape = graph_.type(mask).shape, &whole = graph_.type(y).shape;
    return graph_.type(mask).dtype == graph_.type(y).dtype && shape.size() <= whole.size() &&
           (shape.empty() || shape.back() == 1);
  }

  std::optional<Gated> gated_by(ValueId value, ValueId gate) const {
    const NodeId activation = graph_.value(gate).producer;
    if (activation == kNone || !is_inner(gate) || !is_pointwise(*graph_.node(activation).op)) return std::nullopt;
    for (const auto& [fn, kind] : kActivations) {
      if (fn_of(*graph_.node(activation).op) != fn) continue;
      const auto values = projection_of(value), gates = projection_of(graph_.node(activation).inputs[0]);
      if (!values || !gates || !fit(*values, *gates)) return std::nullopt;
      return Gated{*values, *gates, kind, kNone};
    }
    return std::nullopt;
  }

  bool fit(const Projection& value, const Projection& gate) const {
    const Shape &a = graph_.type(value.weight).shape, &b = graph_.type(gate.weight).shape;
    return a == b && graph_.type(value.x).shape == graph_.type(gate.x).shape && a[0] <= kMostDepth && a[0] > 0 &&
           a[0] % kVector == 0 && a[1] % kVector == 0;
  }

  std::optional<Projection> projection_of(ValueId id) const {
    if (!is_inner(id)) return std::nullopt;
    const NodeId add = graph_.producer_of(id, pointwise_op(ops::Fn::kAdd));
    if (add == kNone) return product_of(id);
    for (const size_t i : {0, 1}) {
      const ValueId bias = graph_.node(add).inputs[i], product = graph_.node(add).inputs[1 - i];
      std::optional<Projection> projection = is_inner(product) ? product_of(product) : std::nullopt;
      if (!projection || !known_(bias)) continue;
      projection->bias = bias;
      if (graph_.type(bias).shape == Shape{graph_.type(projection->weight).shape[1]}) return projection;
    }
    return std::nullopt;
  }

  std::optional<Projection> product_of(ValueId id) const {
    const NodeId product = graph_.producer_of(id, mat_mul_op);
    if (product == kNone) return std::nullopt;
    const Node& node = graph_.node(product);
    const bool plain = node.attrs == Attrs(ops::MatMul{}) &&
                       std::all_of(node.inputs.begin() + 2, node.inputs.end(), [](ValueId v) { return v == kNone; });
    if (!plain || known_(node.inputs[0]) || !known_(node.inputs[1]) || graph_.type(node.inputs[1]).shape.size() != 2)
      return std::nullopt;
    return Projection{node.inputs[0], node.inputs[1], kNone};
  }

  const Graph& graph_;
  const KnownValues known_;
};

// Where the result is only added to something of its shape: that, and the sum.
struct Residual {
  ValueId value = kNone, sum = kNone;
};

Residual residual_of(const Graph& graph, ValueId y) {
  const Value& value = graph.value(y);
  if (value.users.size() != 1 || graph.is_output(y)) return {};
  const Node& add = graph.node(value.users[0]);
  if (add.op != &pointwise_op(ops::Fn::kAdd)) return {};
  const ValueId other = add.inputs[add.inputs[0] == y ? 1 : 0];
  if (graph.type(other).shape != value.type.shape) return {};
  return {other, add.outputs[0]};
}

Status rewrite(Graph& graph, NodeId root, const Gated& gated) {
  Patch patch(graph, graph.node(root).name);
  const ValueId y = graph.node(root).outputs[0];
  std::vector<ValueId> inputs(Op::kNumOperands, kNone);
  inputs[Op::kA] = gated.value.x;
  PLICA_TRY(inputs[Op::kValue], patch.add(transpose_op, ops::Transpose{{1, 0}}, {gated.value.weight}));
  PLICA_TRY(inputs[Op::kGate], patch.add(transpose_op, ops::Transpose{{1, 0}}, {gated.gate.weight}));
  inputs[Op::kValueBias] = gated.value.bias;
  inputs[Op::kGateBias] = gated.gate.bias;
  inputs[Op::kMask] = gated.mask;
  if (gated.gate.x != gated.value.x) inputs[Op::kB] = gated.gate.x;
  const Residual residual = residual_of(graph, y);
  inputs[Op::kResidual] = residual.value;
  PLICA_TRY(const ValueId made, patch.add(gated_mat_mul_op, Op{.activation = gated.activation}, std::move(inputs)));
  patch.replace(residual.sum != kNone ? residual.sum : y, made);
  return patch.apply();
}

}  // namespace

// A projection times an activated projection, times a mask at most, plus a residual at most, becomes one product that writes
// neither of them. Only where kernels exist that are faster so (see pipeline.cpp).
Result<int> fuse_gated_product(Graph& graph, ConstantStore&) {
  const Finder finder(graph);
  int num_edits = 0;
  const std::vector<NodeId> order = graph.order();
  for (size_t i = order.size(); i-- > 0;) {  // whole products before their parts
    if (graph.node(order[i]).op != &pointwise_op(ops::Fn::kMul)) continue;
    const std::optional<Gated> gated = finder.find(order[i]);
    if (!gated) continue;
    PLICA_CHECK(rewrite(graph, order[i], *gated));
    ++num_edits;
  }
  return num_edits;
}

}  // namespace plica
