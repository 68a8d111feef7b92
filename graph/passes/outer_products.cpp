#include "graph/passes/outer_products.h"

#include <algorithm>
#include <optional>

#include "graph/passes/axis_atoms.h"
#include "graph/passes/known_values.h"
#include "graph/scalar.h"
#include "ops/mat_mul.h"
#include "ops/outer_product_mean.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/reshape.h"
#include "ops/transpose.h"
#include "runtime/core/dtype.h"

namespace plica {
namespace {

using Atoms = AxisAtoms::Atoms;
using Axes = AxisAtoms::Axes;

constexpr int kMaxSteps = 12;

// A factor or divisor of the products, the same for all pairs of channels.
struct Factor {
  AtomView of;
  bool divides;
};

// What is known of a sum of products, from the sum to the weights that take it.
struct Products {
  AxisAtoms atoms;
  AtomView left, right;
  Atoms batch, sum, rows, columns;  // of both, of both and summed over, of the left, of the right
  AtomView at;                      // the products so far
  double scale = 1;
  std::vector<Factor> factors;
  NodeId end = kNone;  // the product with weights
};

bool is(const Node& node, ops::Fn fn) { return node.op == &pointwise_op(fn); }

void append(Atoms& list, const Atoms& more) { list.insert(list.end(), more.begin(), more.end()); }

// MatMul(left, right) of as many matrices on both sides, or of one on either side.
bool begin_matrices(const Graph& graph, const Node& node, Products& p) {
  const Shape &left = graph.type(node.inputs[0]).shape, &right = graph.type(node.inputs[1]).shape;
  const auto& attrs = node.attrs.as<ops::MatMul>();
  const bool is_plain = std::all_of(node.inputs.begin() + 2, node.inputs.end(), [](ValueId v) { return v == kNone; }) &&
                        attrs.activation == ops::Activation::kNone;
  const bool shares = left.size() == right.size() && std::equal(left.begin(), left.end() - 2, right.begin());
  if (!is_plain || (!shares && left.size() != 2 && right.size() != 2)) return false;
  p.scale = attrs.alpha;
  const Shape& longer = left.size() >= right.size() ? left : right;
  Axes leading;
  for (size_t i = 0; i + 2 < longer.size(); ++i) {
    leading.push_back(p.atoms.add(longer[i]));
    append(shares ? p.batch : left.size() > 2 ? p.rows : p.columns, leading.back());
  }
  const Atoms row = p.atoms.add(left.end()[-2]), column = p.atoms.add(right.back());
  p.sum = p.atoms.add(left.back());
  append(p.rows, row);
  append(p.columns, column);
  const auto with = [&](const Shape& shape, const Atoms& first, const Atoms& second) {
    Axes axes = shape.size() == longer.size() ? leading : Axes{};
    axes.insert(axes.end(), {first, second});
    return axes;
  };
  p.left = {node.inputs[0], with(left, row, p.sum)};
  p.right = {node.inputs[1], with(right, p.sum, column)};
  p.at = {node.outputs[0], with(longer, row, column)};
  return true;
}

// Reduce(Mul(left, right)) over an axis of both, each of the others an axis of either or of both.
bool begin_broadcast(const Graph& graph, const Node& node, Products& p) {
  const auto& reduce = node.attrs.as<ops::Reduce>();
  const NodeId mul = graph.producer_of(node.inputs[0], pointwise_op(ops::Fn::kMul));
  const bool is_sum = reduce.kind == ops::ReduceKind::kSum, is_mean = reduce.kind == ops::ReduceKind::kMean;
  if (mul == kNone || reduce.axes.size() != 1 || (!is_sum && !is_mean) ||
      graph.value(node.inputs[0]).users.size() != 1 || graph.is_output(node.inputs[0]))
    return false;
  const auto& operands = graph.node(mul).inputs;
  const Shape &left = graph.type(operands[0]).shape, &right = graph.type(operands[1]).shape;
  if (left.size() != right.size()) return false;
  const auto summed = static_cast<size_t>(reduce.axes[0]);
  Axes of_left, of_right, of_result;
  for (size_t i = 0; i < left.size(); ++i) {
    const Atoms axis = p.atoms.add(std::max(left[i], right[i]));
    of_left.push_back(left[i] == 1 ? Atoms{} : axis);
    of_right.push_back(right[i] == 1 ? Atoms{} : axis);
    if (i == summed && left[i] != right[i]) return false;
    append(i == summed ? p.sum : left[i] == right[i] ? p.batch : left[i] == 1 ? p.columns : p.rows, axis);
    if (i != summed || reduce.keepdims) of_result.push_back(i == summed ? Atoms{} : axis);
  }
  if (left[summed] == 0) return false;
  if (is_mean) p.scale = 1 / static_cast<double>(left[summed]);
  p.left = {operands[0], std::move(of_left)};
  p.right = {operands[1], std::move(of_right)};
  p.at = {node.outputs[0], std::move(of_result)};
  return true;
}

// A factor beside the products; whether it is one that the atoms can follow.
bool take_factor(const Graph& graph, const Node& reader, Products& p) {
  const bool divides = is(reader, ops::Fn::kDiv);
  if ((!divides && !is(reader, ops::Fn::kMul)) || (divides && reader.inputs[0] != p.at.value)) return false;
  const ValueId other = reader.inputs[reader.inputs[0] == p.at.value ? 1 : 0];
  const Shape &shape = graph.type(p.at.value).shape, &own = graph.type(other).shape;
  if (other == p.at.value || graph.type(reader.outputs[0]).shape != shape) return false;
  const Constant* constant = graph.constant(other);
  if (const auto number = constant == nullptr ? std::nullopt : uniform_value(*constant)) {
    p.scale = divides ? p.scale / *number : p.scale * *number;
  } else {
    const size_t missing = shape.size() - own.size();
    Axes axes;
    for (size_t i = 0; i < own.size(); ++i) axes.push_back(own[i] == 1 ? Atoms{} : p.at.axes[missing + i]);
    p.factors.push_back({{other, std::move(axes)}, divides});
  }
  p.at.value = reader.outputs[0];
  return true;
}

// Follows the products through views and factors to the product with weights.
bool follow(const Graph& graph, Products& p) {
  for (int step = 0; step < kMaxSteps; ++step) {
    const auto& users = graph.value(p.at.value).users;
    if (users.size() != 1 || graph.is_output(p.at.value)) return false;
    const Node& reader = graph.node(users[0]);
    if (reader.op == &mat_mul_op) {
      p.end = users[0];
      const bool is_plain =
          std::all_of(reader.inputs.begin() + 2, reader.inputs.end(), [](ValueId v) { return v == kNone; });
      p.scale *= reader.attrs.as<ops::MatMul>().alpha;
      return is_plain && reader.inputs[0] == p.at.value && graph.type(reader.inputs[1]).shape.size() == 2 &&
             reader.attrs.as<ops::MatMul>().activation == ops::Activation::kNone;
    }
    if (reader.op == &reshape_op) {
      auto axes = p.atoms.reshaped(p.at.axes, graph.type(reader.outputs[0]).shape);
      if (!axes) return false;
      p.at = {reader.outputs[0], *std::move(axes)};
    } else if (reader.op == &transpose_op) {
      Axes axes;
      for (const int64_t axis : reader.attrs.as<ops::Transpose>().perm)
        axes.push_back(p.at.axes[static_cast<size_t>(axis)]);
      p.at = {reader.outputs[0], std::move(axes)};
    } else if (!take_factor(graph, reader, p)) {
      return false;
    }
  }
  return false;
}

bool holds(const Atoms& list, int atom) { return std::find(list.begin(), list.end(), atom) != list.end(); }

// Those of `list` that are among `of`, in the order of `list`.
Atoms among(const Atoms& list, const Atoms& of) {
  Atoms found;
  std::copy_if(list.begin(), list.end(), std::back_inserter(found), [&](int atom) { return holds(of, atom); });
  return found;
}

// The places and channels of one side.
struct Side {
  AtomView of;
  Atoms places, channels;
};

// The products sorted out: y[batch, places of a, places of b, :] and the channels of both, flat.
struct Sorted {
  Side a, b;
  Atoms batch, sum, flat;
  Axes leading;  // of the product with weights
};

// Whether the channels are those of both sides, one side behind the other, and the places are, too, of both.
bool is_outer_product(const Sorted& s) {
  Atoms one = s.a.channels, other = s.b.channels;
  append(one, s.b.channels);
  append(other, s.a.channels);
  const bool has_channels = !s.a.channels.empty() && !s.b.channels.empty();
  const bool has_places = !s.a.places.empty() && !s.b.places.empty();
  return (s.flat == one || s.flat == other) && (has_channels || has_places);
}

Sorted sorted(const Graph& graph, Products& p) {
  p.left = source_of(graph, p.atoms, p.left);
  p.right = source_of(graph, p.atoms, p.right);
  Sorted s;
  s.leading.assign(p.at.axes.begin(), p.at.axes.end() - 1);
  const Atoms flat = p.atoms.whole(p.at.axes.back()), leading = p.atoms.whole(s.leading);
  const Atoms rows = p.atoms.whole(p.rows), columns = p.atoms.whole(p.columns), batch = p.atoms.whole(p.batch);
  s.flat = flat;
  s.batch = among(leading, batch);
  s.sum = p.atoms.whole(p.sum);
  s.a = {p.left, among(leading, rows), among(flat, rows)};
  s.b = {p.right, among(leading, columns), among(flat, columns)};
  const auto first = std::find_if(leading.begin(), leading.end(), [&](int atom) { return !holds(batch, atom); });
  if (first != leading.end() && holds(columns, *first)) std::swap(s.a, s.b);
  return s;
}

// Which of y's axes a factor has, all of each; nullopt where it differs between channels.
std::optional<Axes> axes_of_factor(const Products& p, const Sorted& s, const Factor& factor) {
  const Atoms own = p.atoms.whole(factor.of.axes);
  Axes axes;
  size_t num_found = 0;
  for (const Atoms* axis : {&s.batch, &s.a.places, &s.b.places}) {
    axes.push_back(among(*axis, own));
    if (!axes.back().empty() && axes.back() != *axis) return std::nullopt;
    num_found += axes.back().size();
  }
  axes.emplace_back();
  return num_found == own.size() ? std::optional(std::move(axes)) : std::nullopt;
}

Result<ValueId> side(Patch& patch, const Products& p, const Sorted& s, const Side& of) {
  return arranged(patch, p.atoms, of.of, {s.batch, s.sum, of.places, of.channels});
}

// Whether the products were rewritten.
Result<bool> rewrite(Graph& graph, Products& p) {
  const Sorted s = sorted(graph, p);
  if (!is_outer_product(s)) return false;
  std::vector<Axes> of_factors;
  for (const Factor& factor : p.factors) {
    auto axes = axes_of_factor(p, s, factor);
    if (!axes) return false;
    of_factors.push_back(*std::move(axes));
  }
  const Node end = graph.node(p.end);
  Patch patch(graph, end.name);
  const Atoms out = p.atoms.add(graph.type(end.inputs[1]).shape[1]);
  Atoms channels = s.a.channels;
  append(channels, s.b.channels);
  PLICA_TRY(const ValueId a, side(patch, p, s, s.a));
  PLICA_TRY(const ValueId b, side(patch, p, s, s.b));
  PLICA_TRY(const ValueId weight, arranged(patch, p.atoms, {end.inputs[1], {s.flat, out}}, {channels, out}));
  PLICA_TRY(ValueId y, patch.add(outer_product_mean_op, ops::OuterProductMean{p.scale}, {a, b, weight}));
  for (size_t i = 0; i < p.factors.size(); ++i) {
    PLICA_TRY(const ValueId factor, arranged(patch, p.atoms, p.factors[i].of, of_factors[i]));
    const OpDef& op = pointwise_op(p.factors[i].divides ? ops::Fn::kDiv : ops::Fn::kMul);
    PLICA_TRY(y, patch.add(op, ops::Pointwise{}, {y, factor}));
  }
  Axes wanted = s.leading;
  wanted.push_back(out);
  PLICA_TRY(y, arranged(patch, p.atoms, {y, {s.batch, s.a.places, s.b.places, out}}, wanted));
  patch.replace(end.outputs[0], y);
  PLICA_CHECK(patch.apply());
  return true;
}

}  // namespace

Result<int> find_outer_products(Graph& graph) {
  const KnownValues known(graph);
  const std::vector<NodeId> order = graph.order();
  int num_edits = 0;
  for (NodeId id : order) {
    const Node& node = graph.node(id);  // an edit before may have removed it
    if ((node.op != &mat_mul_op && node.op != &reduce_op) || !is_float(graph.type(node.inputs[0]).dtype)) continue;
    Products p;
    const bool begins = node.op == &mat_mul_op ? begin_matrices(graph, node, p) : begin_broadcast(graph, node, p);
    if (!begins || known(p.left.value) || known(p.right.value) || !follow(graph, p)) continue;
    PLICA_TRY(const bool done, rewrite(graph, p));
    num_edits += done;
  }
  return num_edits;
}

}  // namespace plica
