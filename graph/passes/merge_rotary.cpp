#include <algorithm>
#include <optional>

#include "graph/passes/passes.h"
#include "graph/passes/predicates.h"
#include "graph/patch.h"
#include "ops/reshape.h"
#include "ops/rotary.h"
#include "ops/slice.h"
#include "ops/transpose.h"

namespace plica {
namespace {

// Rotary(Transpose(Reshape(Slice(whole)))): heads cut out of the last axis of a product.
struct Heads {
  NodeId rotary = kNone, transpose = kNone, reshape = kNone, slice = kNone;
  ValueId whole = kNone;
  int64_t start = 0, width = 0, num_heads = 0;
  size_t axis = 0;  // of the heads in what is rotated

  bool operator<(const Heads& other) const { return start < other.start; }
};

// Whether the table is the same for all heads.
bool is_shared(const Graph& graph, ValueId table, size_t axis, size_t rank) {
  const Shape& shape = graph.type(table).shape;
  const size_t missing = rank - shape.size();
  return axis < missing || shape[axis - missing] == 1;
}

std::optional<Heads> heads_of(const Graph& graph, NodeId id) {
  Heads heads{.rotary = id};
  const Node& rotary = graph.node(id);
  heads.transpose = graph.producer_of(rotary.inputs[0], transpose_op);
  if (heads.transpose == kNone) return std::nullopt;
  heads.reshape = graph.producer_of(graph.node(heads.transpose).inputs[0], reshape_op);
  if (heads.reshape == kNone) return std::nullopt;
  heads.slice = graph.producer_of(graph.node(heads.reshape).inputs[0], slice_op);
  if (heads.slice == kNone) return std::nullopt;
  heads.whole = graph.node(heads.slice).inputs[0];
  const ops::Slice& slice = graph.node(heads.slice).attrs.as<ops::Slice>();
  if (!cuts_last_axis(slice, graph.type(heads.whole).shape)) return std::nullopt;
  heads.start = slice.starts.back();
  heads.width = slice.sizes.back();
  const Shape& split = graph.node(heads.reshape).attrs.as<ops::Reshape>().shape;
  const size_t rank = split.size();
  if (rank != slice.sizes.size() + 1 || split[rank - 2] * split[rank - 1] != heads.width) return std::nullopt;
  heads.num_heads = split[rank - 2];
  const std::vector<int64_t>& perm = graph.node(heads.transpose).attrs.as<ops::Transpose>().perm;
  heads.axis = static_cast<size_t>(std::find(perm.begin(), perm.end(), static_cast<int64_t>(rank) - 2) - perm.begin());
  if (heads.axis + 1 == rank || perm.back() != static_cast<int64_t>(rank) - 1) return std::nullopt;
  for (size_t i : {1, 2})
    if (!is_shared(graph, rotary.inputs[i], heads.axis, rank)) return std::nullopt;
  return heads;
}

bool rotate_alike(const Graph& graph, const Heads& a, const Heads& b) {
  const Node &first = graph.node(a.rotary), &second = graph.node(b.rotary);
  const Shape &one = graph.type(first.inputs[0]).shape, &other = graph.type(second.inputs[0]).shape;
  return a.whole == b.whole && a.axis == b.axis && one.size() == other.size() && one.back() == other.back() &&
         first.attrs == second.attrs && first.inputs[1] == second.inputs[1] && first.inputs[2] == second.inputs[2] &&
         graph.node(a.transpose).attrs == graph.node(b.transpose).attrs;
}

// `heads` lie side by side.
Status merge(Graph& graph, const std::vector<Heads>& heads) {
  const Heads& first = heads[0];
  const Node rotary = graph.node(first.rotary);
  Patch patch(graph, rotary.name);
  ops::Slice slice = graph.node(first.slice).attrs.as<ops::Slice>();
  ops::Reshape reshape = graph.node(first.reshape).attrs.as<ops::Reshape>();
  int64_t num_heads = 0;
  for (const Heads& part : heads) num_heads += part.num_heads;
  reshape.shape.end()[-2] = num_heads;
  slice.sizes.back() = num_heads * reshape.shape.back();
  PLICA_TRY(const ValueId cut, patch.add(slice_op, std::move(slice), {first.whole}));
  PLICA_TRY(const ValueId split, patch.add(reshape_op, std::move(reshape), {cut}));
  PLICA_TRY(const ValueId x, patch.add(transpose_op, graph.node(first.transpose).attrs, {split}));
  PLICA_TRY(const ValueId y, patch.add(rotary_op, rotary.attrs, {x, rotary.inputs[1], rotary.inputs[2]}));
  int64_t at = 0;
  for (const Heads& part : heads) {
    const ValueId output = graph.node(part.rotary).outputs[0];
    ops::Slice own;
    own.sizes = graph.type(output).shape;
    own.starts.assign(own.sizes.size(), 0);
    own.steps.assign(own.sizes.size(), 1);
    own.starts[first.axis] = at;
    at += part.num_heads;
    PLICA_TRY(const ValueId piece, patch.add(slice_op, std::move(own), {y}));
    patch.replace(output, piece);
  }
  return patch.apply();
}

}  // namespace

// Rotations of neighbouring heads of one product (its queries and keys) by the same angles become one.
Result<int> merge_rotary(Graph& graph, ConstantStore&) {
  std::vector<std::vector<Heads>> groups;
  for (NodeId id : graph.order()) {
    if (graph.node(id).op != &rotary_op) continue;
    const std::optional<Heads> heads = heads_of(graph, id);
    if (!heads) continue;
    const auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return rotate_alike(graph, g[0], *heads); });
    if (group != groups.end()) {
      group->push_back(*heads);
    } else {
      groups.push_back({*heads});
    }
  }
  int num_edits = 0;
  for (std::vector<Heads>& group : groups) {
    std::sort(group.begin(), group.end());
    const auto apart = [](const Heads& a, const Heads& b) { return a.start + a.width != b.start; };
    if (group.size() < 2 || std::adjacent_find(group.begin(), group.end(), apart) != group.end()) continue;
    PLICA_CHECK(merge(graph, group));
    ++num_edits;
  }
  return num_edits;
}

}  // namespace plica
