#include <algorithm>
#include <unordered_map>

#include "graph/passes/known_values.h"
#include "graph/passes/passes.h"
#include "graph/patch.h"
#include "ops/concat.h"
#include "ops/mat_mul.h"
#include "ops/slice.h"

namespace plica {
namespace {

// Wider ones fill the machine alone.
constexpr int64_t kMaxWidth = 8192;

// Up to here the columns of a product (the bias of a score for each head, say) are often written one by one. Beside wider
// projections they would take from those that every row starts at a multiple of 16 bytes.
constexpr int64_t kNarrow = 8;

const ops::MatMul& attrs_of(const Graph& graph, NodeId id) { return graph.node(id).attrs.as<ops::MatMul>(); }

// A product of some input by a matrix of weights, with a bias at most.
bool is_projection(const Graph& graph, const KnownValues& known, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != &mat_mul_op || known(node.inputs[0]) || !known(node.inputs[1])) return false;
  if (node.inputs[3] != kNone || node.inputs[4] != kNone) return false;
  if (node.inputs[2] != kNone && !known(node.inputs[2])) return false;
  const Shape& weight = graph.type(node.inputs[1]).shape;
  return weight.size() == 2 && weight[0] > 0 && weight[1] > 0 && weight[1] <= kMaxWidth &&
         attrs_of(graph, id).activation == ops::Activation::kNone;
}

bool is_narrow(const Graph& graph, NodeId id) { return graph.type(graph.node(id).inputs[1]).shape[1] <= kNarrow; }

bool are_compatible(const Graph& graph, NodeId a, NodeId b) {
  if (is_narrow(graph, a) != is_narrow(graph, b)) return false;
  return graph.node(a).attrs == graph.node(b).attrs &&
         graph.type(graph.node(a).inputs[1]).dtype == graph.type(graph.node(b).inputs[1]).dtype;
}

// The biases side by side, zeros for those that are absent; kNone where all are.
Result<ValueId> merged_bias(Patch& patch, const std::vector<NodeId>& group) {
  const Graph& graph = patch.graph();
  std::vector<ValueId> biases;
  bool any = false;
  for (NodeId id : group) any = any || graph.node(id).inputs[2] != kNone;
  if (!any) return kNone;
  for (NodeId id : group) {
    biases.push_back(graph.node(id).inputs[2]);
    if (biases.back() != kNone) continue;
    const TensorType weight = graph.type(graph.node(id).inputs[1]);
    PLICA_TRY(Tensor zeros, Tensor::zeros(weight.dtype, {weight.shape[1]}));
    biases.back() = patch.add_constant(make_constant(std::move(zeros)));
  }
  return patch.add(concat_op, ops::Concat{0}, std::move(biases));
}

Status merge(Graph& graph, const std::vector<NodeId>& group) {
  Patch patch(graph, graph.node(group[0]).name);
  std::vector<ValueId> weights;
  for (NodeId id : group) weights.push_back(graph.node(id).inputs[1]);
  PLICA_TRY(const ValueId weight, patch.add(concat_op, ops::Concat{1}, std::move(weights)));
  PLICA_TRY(const ValueId bias, merged_bias(patch, group));
  const Attrs attrs = graph.node(group[0]).attrs;
  PLICA_TRY(const ValueId all, patch.add(mat_mul_op, attrs, {graph.node(group[0]).inputs[0], weight, bias}));
  int64_t at = 0;
  for (NodeId id : group) {
    const ValueId output = graph.node(id).outputs[0];
    ops::Slice slice;
    slice.sizes = graph.type(output).shape;
    slice.starts.assign(slice.sizes.size(), 0);
    slice.steps.assign(slice.sizes.size(), 1);
    slice.starts.back() = at;
    at += slice.sizes.back();
    PLICA_TRY(const ValueId part, patch.add(slice_op, std::move(slice), {all}));
    patch.replace(output, part);
  }
  return patch.apply();
}

}  // namespace

// Projections of one input (queries, keys and values, say) become one product of it, whose parts are slices.
Result<int> merge_projections(Graph& graph, ConstantStore&) {
  const KnownValues known(graph);
  std::vector<std::vector<NodeId>> groups;
  std::unordered_multimap<ValueId, size_t> by_input;
  for (NodeId id : graph.order()) {
    if (!is_projection(graph, known, id)) continue;
    const ValueId input = graph.node(id).inputs[0];
    const auto [first, last] = by_input.equal_range(input);
    const auto group =
        std::find_if(first, last, [&](const auto& g) { return are_compatible(graph, groups[g.second][0], id); });
    if (group != last) {
      groups[group->second].push_back(id);
    } else {
      by_input.emplace(input, groups.size());
      groups.push_back({id});
    }
  }
  int num_edits = 0;
  for (const std::vector<NodeId>& group : groups) {
    if (group.size() < 2) continue;
    PLICA_CHECK(merge(graph, group));
    ++num_edits;
  }
  return num_edits;
}

}  // namespace plica
