#include <algorithm>

#include "graph/passes/known_values.h"
#include "graph/passes/passes.h"
#include "graph/patch.h"
#include "ops/gated_mat_mul.h"
#include "ops/layer_norm.h"

namespace plica {
namespace {

using Op = ops::GatedMatMul;

// Kernels normalise rows that fill their registers.
constexpr int64_t kWidths[] = {64, 128};

bool reads_as_source(const Node& node, ValueId x) {
  if (node.op != &gated_mat_mul_op) return false;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i] == x && i != Op::kA && i != Op::kB) return false;
  return (node.inputs[Op::kA] != x || node.inputs[Op::kGamma] == kNone) &&
         (node.inputs[Op::kB] != x || node.inputs[Op::kGateGamma] == kNone);
}

// Whether nobody but gated products reads the result, as what they multiply.
bool is_for_gated_products(const Graph& graph, const KnownValues& known, const Node& norm) {
  const ValueId x = norm.outputs[0], gamma = norm.inputs[1], beta = norm.inputs[2];
  const auto& users = graph.value(x).users;
  const int64_t width = graph.type(x).shape.back();
  return gamma != kNone && known(gamma) && (beta == kNone || known(beta)) && !graph.is_output(x) &&
         std::find(std::begin(kWidths), std::end(kWidths), width) != std::end(kWidths) &&
         std::all_of(users.begin(), users.end(), [&](NodeId user) { return reads_as_source(graph.node(user), x); });
}

Status rewrite(Graph& graph, NodeId id) {
  const Node norm = graph.node(id);
  const ValueId x = norm.outputs[0];
  const double eps = norm.attrs.as<ops::LayerNorm>().eps;
  Patch patch(graph, norm.name);
  std::vector<NodeId> users = graph.value(x).users;
  users.erase(std::unique(users.begin(), users.end()), users.end());
  for (NodeId user : users) {
    const Node node = graph.node(user);
    Op op = node.attrs.as<Op>();
    std::vector<ValueId> inputs = node.inputs;
    const auto normalise = [&](size_t source, size_t gamma, double& own_eps) {
      if (inputs[source] != x) return;
      inputs[source] = norm.inputs[0];
      inputs[gamma] = norm.inputs[1];
      inputs[gamma + 1] = norm.inputs[2];
      own_eps = eps;
    };
    normalise(Op::kA, Op::kGamma, op.eps);
    normalise(Op::kB, Op::kGateGamma, op.gate_eps);
    PLICA_TRY(const ValueId made, patch.add(gated_mat_mul_op, op, std::move(inputs)));
    patch.replace(node.outputs[0], made);
  }
  return patch.apply();
}

}  // namespace

// A layer norm that only gated products read is done by each of them, on the rows that it multiplies.
Result<int> fuse_gated_norm(Graph& graph, ConstantStore&) {
  int num_edits = 0;
  for (NodeId id : graph.order()) {
    const KnownValues known(graph);
    const Node& node = graph.node(id);
    if (node.op != &layer_norm_op || !is_for_gated_products(graph, known, node)) continue;
    PLICA_CHECK(rewrite(graph, id));
    ++num_edits;
  }
  return num_edits;
}

}  // namespace plica
