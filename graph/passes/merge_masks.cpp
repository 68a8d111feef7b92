#include <algorithm>
#include <optional>

#include "graph/passes/passes.h"
#include "graph/passes/predicates.h"
#include "graph/patch.h"
#include "ops/pointwise.h"
#include "ops/slice.h"

namespace plica {
namespace {

// Mul(Slice(whole), mask): neighbouring elements of the last axis, all by the same number.
struct Part {
  NodeId mul = kNone, slice = kNone;
  ValueId whole = kNone, mask = kNone;
  int64_t start = 0, width = 0;

  bool operator==(const Part&) const = default;
  bool operator<(const Part& other) const { return start < other.start; }
};

std::optional<Part> part_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != &pointwise_op(ops::Fn::kMul)) return std::nullopt;
  for (const size_t i : {0, 1}) {
    const NodeId cut = graph.producer_of(node.inputs[i], slice_op);
    if (cut == kNone) continue;
    const auto& slice = graph.node(cut).attrs.as<ops::Slice>();
    const Part part{id, cut, graph.node(cut).inputs[0], node.inputs[1 - i], slice.starts.back(), slice.sizes.back()};
    const Shape &mask = graph.type(part.mask).shape, &shape = graph.type(part.whole).shape;
    const bool is_shared = mask.empty() || mask.back() == 1;
    if (is_shared && cuts_last_axis(slice, shape) && graph.type(node.outputs[0]).shape == slice.sizes) return part;
  }
  return std::nullopt;
}

// `parts` lie side by side.
Status merge(Graph& graph, const std::vector<Part>& parts) {
  const Part& first = parts[0];
  const Node mul = graph.node(first.mul);
  Patch patch(graph, mul.name);
  ops::Slice all = graph.node(first.slice).attrs.as<ops::Slice>();
  all.sizes.back() = parts.back().start + parts.back().width - first.start;
  ValueId x = first.whole;
  if (all.sizes != graph.type(x).shape) {
    PLICA_TRY(x, patch.add(slice_op, std::move(all), {x}));
  }
  PLICA_TRY(const ValueId y, patch.add(*mul.op, mul.attrs, {x, first.mask}));
  for (const Part& part : parts) {
    ops::Slice own = graph.node(part.slice).attrs.as<ops::Slice>();
    own.starts.back() -= first.start;
    PLICA_TRY(const ValueId piece, patch.add(slice_op, std::move(own), {y}));
    patch.replace(graph.node(part.mul).outputs[0], piece);
  }
  return patch.apply();
}

}  // namespace

// Neighbouring parts of one product (the two factors of an outer product mean) by the same mask are multiplied as one.
Result<int> merge_masks(Graph& graph, ConstantStore&) {
  std::vector<std::vector<Part>> groups;
  for (NodeId id : graph.order()) {
    const std::optional<Part> part = part_of(graph, id);
    if (!part) continue;
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) {
      return g[0].whole == part->whole && g[0].mask == part->mask;
    });
    if (group != groups.end()) {
      group->push_back(*part);
    } else {
      groups.push_back({*part});
    }
  }
  int num_edits = 0;
  for (std::vector<Part>& group : groups) {
    std::sort(group.begin(), group.end());
    const auto apart = [](const Part& a, const Part& b) { return a.start + a.width != b.start; };
    if (group.size() < 2 || std::adjacent_find(group.begin(), group.end(), apart) != group.end()) continue;
    const auto stands = [&](const Part& part) {
      return part_of(graph, part.mul) == part;
    };  // a merge before may have changed it
    if (!std::all_of(group.begin(), group.end(), stands)) continue;
    PLICA_CHECK(merge(graph, group));
    ++num_edits;
  }
  return num_edits;
}

}  // namespace plica
