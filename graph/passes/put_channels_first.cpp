// Long because trees of projections are found and built anew in one place.
#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "graph/passes/known_values.h"
#include "graph/passes/passes.h"
#include "graph/passes/tiling.h"
#include "graph/patch.h"
#include "ops/concat.h"
#include "ops/gated_mat_mul.h"
#include "ops/mat_mul.h"
#include "ops/pointwise.h"
#include "ops/reshape.h"
#include "ops/slice.h"
#include "ops/transpose.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

// Three axes or more, the last one moved in front of the two before it; where each axis stands then.
template <class List>
void raise_last(List& list) {
  std::rotate(list.end() - 3, list.end() - 1, list.end());
}
int64_t raised(int64_t axis, size_t rank) {
  const int64_t from_end = static_cast<int64_t>(rank) - axis;
  return from_end == 1 ? axis - 2 : from_end <= 3 ? axis + 1 : axis;
}

// A part is cheap to read by strides where it has this many times fewer elements than the whole.
constexpr int64_t kMuchSmaller = 4;

int64_t num_elements_of(const Graph& graph, ValueId id) { return num_elements(graph.type(id).shape); }

// The Transpose behind `operand` where it moves the last axis to the batch of a product; else kNone.
NodeId channels_to_batch(const Graph& graph, ValueId operand) {
  const NodeId id = graph.producer_of(operand, transpose_op);
  if (id == kNone) return kNone;
  const auto& perm = graph.node(id).attrs.as<ops::Transpose>().perm;
  const auto channel = std::find(perm.begin(), perm.end(), static_cast<int64_t>(perm.size()) - 1);
  return perm.size() >= 3 && channel < perm.end() - 2 ? id : kNone;
}

// A product with weights on its right and nothing else.
bool is_plain_projection(const Graph& graph, const KnownValues& known, const Node& node) {
  const auto& in = node.inputs;
  const bool plain = in[2] == kNone && in[3] == kNone && in[4] == kNone;
  return plain && !known(in[0]) && known(in[1]) && graph.type(in[1]).shape.size() == 2 &&
         node.attrs.as<ops::MatMul>().activation == ops::Activation::kNone;
}

// A gated projection, whose result may have its channels anywhere.
bool is_gated_projection(const Node& node) {
  return node.op == &gated_mat_mul_op && node.inputs[ops::GatedMatMul::kResidual] == kNone;
}

bool is_projection(const Node& node) { return node.op == &mat_mul_op || node.op == &gated_mat_mul_op; }

// What is computed of projections before a product over channels: element-wise steps and slices of them.
class Tree {
 public:
  Tree(const Graph& graph, const KnownValues& known, size_t rank) : graph_(graph), known_(known), rank_(rank) {}

  // Whether all that `id` is made of can be computed with its last axis raised, at no cost of reading.
  bool collect(ValueId id) {
    const NodeId producer = graph_.value(id).producer;
    if (producer == kNone || graph_.type(id).shape.size() != rank_) return false;
    if (!seen_.insert(producer).second) return true;
    const Node& node = graph_.node(producer);
    nodes_.push_back(producer);
    if (is_projection(node)) {
      projections_.push_back(producer);
      return is_gated_projection(node) || (node.op == &mat_mul_op && is_plain_projection(graph_, known_, node));
    }
    if (node.op == &slice_op) return node.attrs.as<ops::Slice>().steps.back() == 1 && collect(node.inputs[0]);
    if (!is_pointwise(*node.op)) return false;
    const int64_t whole = num_elements_of(graph_, id);
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return graph_.constant(input) != nullptr || num_elements_of(graph_, input) * kMuchSmaller <= whole ||
             collect(input);
    });
  }

  // Whether nobody but `readers` reads any of it.
  bool is_read_by(std::initializer_list<NodeId> readers) const {
    return !projections_.empty() && std::all_of(nodes_.begin(), nodes_.end(), [&](NodeId id) {
      const ValueId output = graph_.node(id).outputs[0];
      const auto& users = graph_.value(output).users;
      return !graph_.is_output(output) && std::all_of(users.begin(), users.end(), [&](NodeId user) {
        return seen_.count(user) != 0 || std::find(readers.begin(), readers.end(), user) != readers.end();
      });
    });
  }

  bool holds(NodeId id) const { return seen_.count(id) != 0; }

  // Of all projections but gated ones: those hold nothing beside what the product reads, and read their source once.
  int64_t bytes() const {
    size_t sum = 0;
    for (NodeId id : projections_)
      if (graph_.node(id).op == &mat_mul_op) sum += num_bytes(graph_.type(graph_.node(id).outputs[0]));
    return static_cast<int64_t>(sum);
  }

 private:
  const Graph& graph_;
  const KnownValues& known_;
  size_t rank_;
  std::vector<NodeId> nodes_, projections_;
  std::unordered_set<NodeId> seen_;
};

// Channels of a value.
struct Range {
  int64_t begin = 0, end = 0;
  bool operator==(const Range&) const = default;
};

// Builds some channels of a tree anew, with the last axis of everything raised.
class Builder {
 public:
  Builder(Patch& patch, const Tree& tree, size_t rank) : patch_(patch), tree_(tree), rank_(rank) {}

  // Finds which channels of which projections `range` of `id` is made of.
  void plan(ValueId id, Range range) {
    const NodeId producer = graph().value(id).producer;
    if (producer == kNone || !tree_.holds(producer)) return;
    const Node& node = graph().node(producer);
    if (!is_projection(node)) {
      for (ValueId input : node.inputs) plan(input, range_in(node, input, range));
      return;
    }
    const Piece piece{producer, range, kNone};
    const auto same = [&](const Piece& other) { return other.projection == producer && other.range == range; };
    if (std::none_of(pieces_.begin(), pieces_.end(), same)) pieces_.push_back(piece);
  }

  // Pieces of projections of one input and one scale become one product, weights (O, C) on the left of (..., I, C, K).
  Status build_projections() {
    std::vector<Piece> left = std::move(pieces_);
    while (!left.empty()) {
      const auto is_alike = [&, first = left[0].projection](const Piece& piece) {
        return is_alike_but_weights(graph().node(first), graph().node(piece.projection));
      };
      const auto others = std::stable_partition(left.begin(), left.end(), is_alike);
      const std::vector<Piece> group(left.begin(), others);
      const bool gated = graph().node(group[0].projection).op == &gated_mat_mul_op;
      PLICA_CHECK(gated ? build_gated_group(group) : build_group(group));
      left.erase(left.begin(), others);
    }
    return {};
  }

  Result<ValueId> build(ValueId id, Range range) {
    for (const Made& made : made_)
      if (made.of == id && made.range == range) return made.value;
    const NodeId producer = graph().value(id).producer;
    const bool inside = producer != kNone && tree_.holds(producer);
    PLICA_TRY(const ValueId value, inside ? rebuild(graph().node(producer), range) : raise(id, range));
    made_.push_back({id, range, value});
    return value;
  }

 private:
  struct Piece {
    NodeId projection;
    Range range;
    ValueId weight;  // (O, C)
  };
  struct Made {
    ValueId of;
    Range range;
    ValueId value;
  };

  const Graph& graph() const { return patch_.graph(); }

  // The channels of an operand that `range` of the node's result hangs on.
  Range range_in(const Node& node, ValueId input, Range range) const {
    if (node.op == &slice_op) {
      const int64_t start = node.attrs.as<ops::Slice>().starts.back();
      return {start + range.begin, start + range.end};
    }
    const Shape& shape = graph().type(input).shape;
    return shape.empty() || shape.back() == 1 ? Range{0, 1} : range;
  }

  Result<ValueId> rebuild(Node node, Range range) {
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs) {
      PLICA_TRY(inputs.emplace_back(), build(input, range_in(node, input, range)));
    }
    if (node.op != &slice_op) return patch_.add(*node.op, node.attrs, std::move(inputs));
    ops::Slice slice = node.attrs.as<ops::Slice>();
    slice.starts.back() = 0;
    slice.sizes.back() = range.end - range.begin;
    for (auto* list : {&slice.starts, &slice.sizes, &slice.steps}) raise_last(*list);
    if (slice.sizes == graph().type(inputs[0]).shape) return inputs[0];
    return patch_.add(slice_op, std::move(slice), std::move(inputs));
  }

  // A view of a value with its last axis raised, under as many axes as the tree has.
  Result<ValueId> raise(ValueId id, Range range) {
    Shape shape = graph().type(id).shape;
    if (num_elements(shape) == 1) return id;
    ValueId whole = id;
    if (shape.size() < rank_) {
      shape.insert(shape.begin(), rank_ - shape.size(), 1);
      PLICA_TRY(whole, patch_.add(reshape_op, ops::Reshape{shape}, {id}));
    }
    ops::Transpose transpose{axes()};
    raise_last(transpose.perm);
    PLICA_TRY(const ValueId raised, patch_.add(transpose_op, std::move(transpose), {whole}));
    return cut(raised, rank_ - 3, range);
  }

  Result<ValueId> cut(ValueId id, size_t axis, Range range) {
    ops::Slice slice;
    slice.sizes = graph().type(id).shape;
    if (range == Range{0, slice.sizes[axis]}) return id;
    slice.starts.assign(slice.sizes.size(), 0);
    slice.steps.assign(slice.sizes.size(), 1);
    slice.starts[axis] = range.begin;
    slice.sizes[axis] = range.end - range.begin;
    return patch_.add(slice_op, std::move(slice), {id});
  }

  // A view with two neighbouring axes swapped.
  Result<ValueId> swap(ValueId id, size_t axis) {
    ops::Transpose transpose{axes()};
    std::swap(transpose.perm[axis], transpose.perm[axis + 1]);
    return patch_.add(transpose_op, std::move(transpose), {id});
  }

  std::vector<int64_t> axes() const {
    std::vector<int64_t> list(rank_);
    std::iota(list.begin(), list.end(), 0);
    return list;
  }

  // Whether two projections can be one with the weights of both.
  static bool is_alike_but_weights(const Node& a, const Node& b) {
    if (a.op != b.op || !(a.attrs == b.attrs)) return false;
    if (a.op == &mat_mul_op) return a.inputs[0] == b.inputs[0];
    using Op = ops::GatedMatMul;
    for (size_t i = 0; i < Op::kNumOperands; ++i) {
      const bool is_weight = i == Op::kValue || i == Op::kGate || i == Op::kValueBias || i == Op::kGateBias;
      if (is_weight ? (a.inputs[i] == kNone) != (b.inputs[i] == kNone) : a.inputs[i] != b.inputs[i]) return false;
    }
    return true;
  }

  // Some rows of a weight or bias of each piece, one below the other.
  Result<ValueId> stacked(const std::vector<Piece>& group, size_t operand) {
    std::vector<ValueId> parts;
    for (const Piece& piece : group) {
      PLICA_TRY(parts.emplace_back(), cut(graph().node(piece.projection).inputs[operand], 0, piece.range));
    }
    if (parts.size() == 1) return parts[0];
    return patch_.add(concat_op, ops::Concat{0}, std::move(parts));
  }

  // The pieces as one gated product, whose kernel writes channels first.
  Status build_gated_group(const std::vector<Piece>& group) {
    using Op = ops::GatedMatMul;
    const Node first = graph().node(group[0].projection);
    std::vector<ValueId> inputs = first.inputs;
    for (const size_t operand : {Op::kValue, Op::kGate, Op::kValueBias, Op::kGateBias})
      if (inputs[operand] != kNone) {
        PLICA_TRY(inputs[operand], stacked(group, operand));
      }
    PLICA_TRY(const ValueId product, patch_.add(gated_mat_mul_op, first.attrs, std::move(inputs)));  // (..., I, K, O)
    ops::Transpose transpose{axes()};
    raise_last(transpose.perm);
    PLICA_TRY(const ValueId all, patch_.add(transpose_op, std::move(transpose), {product}));
    return give_parts(group, all);
  }

  // `all` has the channels of the pieces one behind the other, raised.
  Status give_parts(const std::vector<Piece>& group, ValueId all) {
    int64_t at = 0;
    for (const Piece& piece : group) {
      const int64_t size = piece.range.end - piece.range.begin;
      PLICA_TRY(const ValueId part, cut(all, rank_ - 3, {at, at + size}));
      made_.push_back({graph().node(piece.projection).outputs[0], piece.range, part});
      at += size;
    }
    return {};
  }

  Status build_group(const std::vector<Piece>& group) {
    const Node first = graph().node(group[0].projection);
    std::vector<ValueId> weights;
    for (const Piece& piece : group) {
      const ValueId right = graph().node(piece.projection).inputs[1];
      PLICA_TRY(const ValueId turned, patch_.add(transpose_op, ops::Transpose{{1, 0}}, {right}));
      PLICA_TRY(weights.emplace_back(), cut(turned, 0, piece.range));
    }
    ValueId weight = weights[0];
    if (weights.size() > 1) {
      PLICA_TRY(weight, patch_.add(concat_op, ops::Concat{0}, std::move(weights)));
    }
    PLICA_TRY(const ValueId x, swap(first.inputs[0], rank_ - 2));
    PLICA_TRY(const ValueId product, patch_.add(mat_mul_op, first.attrs, {weight, x}));  // (..., I, O, K)
    PLICA_TRY(const ValueId all, swap(product, rank_ - 3));
    return give_parts(group, all);
  }

  Patch& patch_;
  const Tree& tree_;
  size_t rank_;
  std::vector<Piece> pieces_;
  std::vector<Made> made_;
};

// A product over channels whose operands are a tree behind Transposes.
struct ChannelProduct {
  NodeId product, left, right;
  size_t rank;
};

// The operands of the product for some channels.
Result<std::vector<ValueId>> build_operands(Patch& patch, const Tree& tree, const ChannelProduct& p, Range range) {
  const Graph& graph = patch.graph();
  Builder builder(patch, tree, p.rank);
  for (NodeId id : {p.left, p.right}) builder.plan(graph.node(id).inputs[0], range);
  PLICA_CHECK(builder.build_projections());
  std::vector<ValueId> operands;
  for (NodeId id : {p.left, p.right}) {
    ops::Transpose transpose = graph.node(id).attrs.as<ops::Transpose>();
    for (int64_t& axis : transpose.perm) axis = raised(axis, p.rank);
    PLICA_TRY(const ValueId whole, builder.build(graph.node(id).inputs[0], range));
    PLICA_TRY(operands.emplace_back(), patch.add(transpose_op, std::move(transpose), {whole}));
  }
  return operands;
}

// Where the channels stand in the result of a Transpose.
size_t channel_axis(const Graph& graph, NodeId transpose) {
  const auto& perm = graph.node(transpose).attrs.as<ops::Transpose>().perm;
  return static_cast<size_t>(std::max_element(perm.begin(), perm.end()) - perm.begin());
}

// As many tiles as wanted, or a few more so that all have equally many channels, whole vectors of them where that can be.
int64_t even_tiles(int64_t channels, int64_t wanted) {
  constexpr int64_t kVector = 8;
  for (const int64_t unit : {kVector, int64_t{1}})
    for (int64_t tiles = wanted; tiles <= std::min(2 * wanted, channels / unit); ++tiles)
      if (channels % (tiles * unit) == 0) return tiles;
  return std::min(wanted, channels);
}

// Slices that hold no more than the result beside it, or fewer where these are tiles already: thin products are slow.
int64_t wanted_slices(const Graph& graph, const Node& product, const Tree& tree, const Tiling& tiling) {
  const auto bytes = [&](ValueId id) { return static_cast<int64_t>(num_bytes(graph.type(id))); };
  const int64_t result = std::max(bytes(product.outputs[0]), int64_t{1});
  const int64_t all = tree.bytes() + bytes(product.inputs[0]) + bytes(product.inputs[1]);
  return std::clamp<int64_t>((all + result - 1) / result, 1, std::max<int64_t>(tiling.num_tiles(tree.bytes()), 1));
}

// Whether the product was rewritten.
Result<bool> rewrite(Graph& graph, const KnownValues& known, NodeId product, const Tiling& tiling) {
  const Node node = graph.node(product);
  const size_t rank = graph.type(node.inputs[0]).shape.size();
  const ChannelProduct p{product, channels_to_batch(graph, node.inputs[0]), channels_to_batch(graph, node.inputs[1]),
                         rank};
  if (p.left == kNone || p.right == kNone) return false;
  Tree tree(graph, known, rank);
  if (!tree.collect(graph.node(p.left).inputs[0]) || !tree.collect(graph.node(p.right).inputs[0])) return false;
  const size_t axis = channel_axis(graph, p.left);
  const int64_t channels = graph.type(node.inputs[0]).shape[axis];
  if (!tree.is_read_by({p.left, p.right}) || channel_axis(graph, p.right) != axis ||
      graph.type(node.inputs[1]).shape[axis] != channels)
    return false;
  Patch patch(graph, node.name);
  const int64_t tiles = even_tiles(channels, wanted_slices(graph, node, tree, tiling));
  std::vector<ValueId> parts;
  for (int64_t t = 0; t < tiles; ++t) {
    PLICA_TRY(std::vector<ValueId> operands,
              build_operands(patch, tree, p, {channels * t / tiles, channels * (t + 1) / tiles}));
    PLICA_TRY(parts.emplace_back(), patch.add(mat_mul_op, node.attrs, std::move(operands)));
  }
  ValueId whole = parts[0];
  if (tiles > 1) {
    PLICA_TRY(whole, patch.add(concat_op, ops::Concat{static_cast<int64_t>(axis)}, std::move(parts)));
  }
  patch.replace(node.outputs[0], whole);
  PLICA_CHECK(patch.apply());
  return true;
}

}  // namespace

// A product over channels (triangle multiplication) reads its gated projections with channels in front of the residues.
// They are computed so: weights times columns of residues in place of rows of residues times weights, all in one product,
// and the element-wise steps behind it write what the product over channels reads, without a copy. Where they would be wide, some
// channels come after the other.
Result<int> put_channels_first(Graph& graph, ConstantStore&) { return put_channels_first(graph, Tiling()); }

Result<int> put_channels_first(Graph& graph, const Tiling& tiling) {
  const KnownValues known(graph);
  const std::vector<NodeId> order = graph.order();
  int num_edits = 0;
  for (NodeId id : order) {
    const Node& node = graph.node(id);  // an edit before may have removed it
    if (node.op != &mat_mul_op ||
        std::any_of(node.inputs.begin() + 2, node.inputs.end(), [](ValueId v) { return v != kNone; }))
      continue;
    PLICA_TRY(const bool done, rewrite(graph, known, id, tiling));
    num_edits += done;
  }
  return num_edits;
}

}  // namespace plica
