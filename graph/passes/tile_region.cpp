#include "graph/passes/tile_region.h"

#include "graph/passes/tile_axes.h"
#include "graph/patch.h"
#include "ops/concat.h"
#include "ops/slice.h"

namespace plica {
namespace {

// Computes one tile of a region.
class Tile {
 public:
  Tile(Patch& patch, const TileRegion& region, int64_t start, int64_t size)
      : patch_(patch), region_(region), start_(start), size_(size) {}

  Result<ValueId> make(ValueId value, int64_t axis) {
    if (value == kNone || axis == kWhole) return value;
    if (const auto found = made_.find(value); found != made_.end()) return found->second;
    const NodeId producer = patch_.graph().value(value).producer;
    const bool inside = producer != kNone && region_.axis.count(producer) != 0;
    PLICA_TRY(const ValueId made, inside ? compute(producer, axis) : cut(value, axis));
    return made_[value] = made;
  }

 private:
  Result<ValueId> compute(NodeId id, int64_t axis) {
    const auto axes = operand_axes(patch_.graph(), id, axis);
    const Node node = patch_.graph().node(id);
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      PLICA_TRY(inputs.emplace_back(), make(node.inputs[i], (*axes)[i]));
    }
    return patch_.add(*node.op, attrs_of_part(patch_.graph(), id, axis, size_), std::move(inputs));
  }

  Result<ValueId> cut(ValueId value, int64_t axis) {
    ops::Slice slice;
    slice.sizes = patch_.graph().type(value).shape;
    slice.starts.assign(slice.sizes.size(), 0);
    slice.steps.assign(slice.sizes.size(), 1);
    slice.starts[static_cast<size_t>(axis)] = start_;
    slice.sizes[static_cast<size_t>(axis)] = size_;
    return patch_.add(slice_op, std::move(slice), {value});
  }

  Patch& patch_;
  const TileRegion& region_;
  int64_t start_, size_;
  std::unordered_map<ValueId, ValueId> made_;
};

}  // namespace

Status tile(Graph& graph, const TileRegion& region, int64_t num_tiles) {
  Patch patch(graph, graph.node(region.roots[0]).name);
  std::vector<std::vector<ValueId>> parts(region.roots.size());
  const auto result = [&](size_t i) { return graph.node(region.roots[i]).outputs[0]; };
  const int64_t size = graph.type(result(0)).shape[static_cast<size_t>(region.axis.at(region.roots[0]))];
  for (int64_t t = 0; t < num_tiles; ++t) {
    const int64_t start = size * t / num_tiles, end = size * (t + 1) / num_tiles;
    Tile tile(patch, region, start, end - start);
    for (size_t i = 0; i < parts.size(); ++i) {
      PLICA_TRY(parts[i].emplace_back(), tile.make(result(i), region.axis.at(region.roots[i])));
    }
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    PLICA_TRY(const ValueId whole,
              patch.add(concat_op, ops::Concat{region.axis.at(region.roots[i])}, std::move(parts[i])));
    patch.replace(result(i), whole);
  }
  return patch.apply();
}

}  // namespace plica
