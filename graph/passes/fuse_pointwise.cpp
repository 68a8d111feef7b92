#include <algorithm>

#include "graph/passes/map_builder.h"
#include "graph/passes/passes.h"
#include "ops/op.h"
#include "ops/pointwise.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

bool is_primitive(const Graph& graph, NodeId id) {
  return id != kNone && graph.node(id).op != nullptr && is_pointwise(*graph.node(id).op);
}

// Whether all that reads the node is in the group, so that its result need not exist.
bool is_inner(const Graph& graph, const std::vector<NodeId>& group, NodeId id) {
  const ValueId output = graph.node(id).outputs[0];
  const auto& users = graph.value(output).users;
  return !graph.is_output(output) && std::all_of(users.begin(), users.end(), [&](NodeId user) {
    return std::find(group.begin(), group.end(), user) != group.end();
  });
}

// Reading 16 bits as 32 costs nothing, however often it is done.
bool is_widening(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (fn_of(*node.op) != ops::Fn::kCast || graph.type(node.outputs[0]).dtype != DType::kF32) return false;
  const DType from = graph.type(node.inputs[0]).dtype;
  return from == DType::kF16 || from == DType::kBF16;
}

// A comparison or a cast of few values of one tensor takes less time than to pass its result on.
bool is_sooner_done_again(const Graph& graph, NodeId id) {
  constexpr int64_t kFew = 4096;
  const Node& node = graph.node(id);
  const auto result = ops::def_of(fn_of(*node.op)).result;
  if (result != ops::FnResult::kBool && result != ops::FnResult::kCast) return false;
  return num_elements(graph.type(node.outputs[0]).shape) <= kFew && num_map_inputs(graph, {&id, 1}) == 1;
}

// A producer that would be computed for each element of the group and for no more: of the group's own shape.
NodeId next_inner(const Graph& graph, const std::vector<NodeId>& group) {
  const Shape& shape = graph.type(graph.node(group.front()).outputs[0]).shape;
  for (NodeId id : group)
    for (ValueId input : graph.node(id).inputs) {
      const NodeId producer = graph.value(input).producer;
      const bool fits = is_primitive(graph, producer) &&
                        (graph.type(input).shape == shape || is_widening(graph, producer)) &&
                        std::find(group.begin(), group.end(), producer) == group.end();
      if (fits && (is_inner(graph, group, producer) || is_sooner_done_again(graph, producer))) {
        std::vector<NodeId> larger = group;
        larger.push_back(producer);
        if (num_map_inputs(graph, larger) <= kMaxMapInputs) return producer;
      }
    }
  return kNone;
}

// The root and all before it that it can take in, each behind those that it reads.
std::vector<NodeId> group_of(const Graph& graph, NodeId root, const std::vector<size_t>& place) {
  std::vector<NodeId> group{root};
  while (group.size() < kMaxMapInstructions) {
    const NodeId producer = next_inner(graph, group);
    if (producer == kNone) break;
    group.push_back(producer);
  }
  std::sort(group.begin(), group.end(),
            [&](NodeId a, NodeId b) { return place[static_cast<size_t>(a)] < place[static_cast<size_t>(b)]; });
  return group;
}

Status replace_by_map(Graph& graph, std::span<const NodeId> group) {
  Patch patch(graph, graph.node(group.back()).name);
  const ValueId old = graph.node(group.back()).outputs[0];
  PLICA_TRY(const ValueId y, add_map(patch, group));
  patch.replace(old, y);
  return patch.apply();
}

}  // namespace

// Chains of element-wise primitives become Map programs.
Result<int> fuse_pointwise(Graph& graph, ConstantStore&) {
  const std::vector<NodeId> order = graph.order();
  std::vector<size_t> place(graph.num_nodes(), 0);
  for (size_t i = 0; i < order.size(); ++i) place[static_cast<size_t>(order[i])] = i;
  int num_edits = 0;
  for (size_t i = order.size(); i-- > 0;) {
    if (!is_primitive(graph, order[i])) continue;
    PLICA_CHECK(replace_by_map(graph, group_of(graph, order[i], place)));
    ++num_edits;
  }
  return num_edits;
}

// Each primitive that is left becomes a Map of its own: primitives have no kernels.
Result<int> lower_pointwise(Graph& graph, ConstantStore&) {
  int num_edits = 0;
  for (NodeId id : graph.order()) {
    if (!is_primitive(graph, id)) continue;
    PLICA_CHECK(replace_by_map(graph, {&id, 1}));
    ++num_edits;
  }
  return num_edits;
}

}  // namespace plica
