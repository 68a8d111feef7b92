#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "graph/passes/known_values.h"
#include "graph/passes/passes.h"
#include "graph/patch.h"
#include "ops/concat.h"
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
    if (node.op == &mat_mul_op) {
      projections_.push_back(producer);
      return is_plain_projection(graph_, known_, node);
    }
    if (node.op == &slice_op) return collect(node.inputs[0]);
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
  const std::vector<NodeId>& projections() const { return projections_; }

 private:
  const Graph& graph_;
  const KnownValues& known_;
  size_t rank_;
  std::vector<NodeId> nodes_, projections_;
  std::unordered_set<NodeId> seen_;
};

// Builds a tree anew with the last axis of everything raised.
class Builder {
 public:
  Builder(Patch& patch, const Tree& tree, size_t rank) : patch_(patch), tree_(tree), rank_(rank) {}

  // Projections of one input and one scale become one product, weights (O, C) on the left of (..., I, C, K).
  Status build_projections() {
    std::vector<NodeId> left = tree_.projections();
    while (!left.empty()) {
      const auto is_other = [&, first = left[0]](NodeId id) {
        const Node &a = graph().node(first), &b = graph().node(id);
        return a.inputs[0] != b.inputs[0] || !(a.attrs == b.attrs);
      };
      const auto others = std::stable_partition(left.begin(), left.end(), [&](NodeId id) { return !is_other(id); });
      PLICA_CHECK(build_group({left.begin(), others}));
      left.erase(left.begin(), others);
    }
    return {};
  }

  Result<ValueId> build(ValueId id) {
    if (const auto found = made_.find(id); found != made_.end()) return found->second;
    const NodeId producer = graph().value(id).producer;
    PLICA_TRY(const ValueId made,
              producer != kNone && tree_.holds(producer) ? rebuild(graph().node(producer)) : raise(id));
    return made_[id] = made;
  }

 private:
  const Graph& graph() const { return patch_.graph(); }

  Result<ValueId> rebuild(Node node) {
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs) {
      PLICA_TRY(inputs.emplace_back(), build(input));
    }
    if (node.op != &slice_op) return patch_.add(*node.op, node.attrs, std::move(inputs));
    ops::Slice slice = node.attrs.as<ops::Slice>();
    for (auto* list : {&slice.starts, &slice.sizes, &slice.steps}) raise_last(*list);
    return patch_.add(slice_op, std::move(slice), std::move(inputs));
  }

  // A view of a value with its last axis raised, under as many axes as the tree has.
  Result<ValueId> raise(ValueId id) {
    Shape shape = graph().type(id).shape;
    if (num_elements(shape) == 1) return id;
    ValueId whole = id;
    if (shape.size() < rank_) {
      shape.insert(shape.begin(), rank_ - shape.size(), 1);
      PLICA_TRY(whole, patch_.add(reshape_op, ops::Reshape{shape}, {id}));
    }
    ops::Transpose transpose{axes()};
    raise_last(transpose.perm);
    return patch_.add(transpose_op, std::move(transpose), {whole});
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

  Status build_group(const std::vector<NodeId>& group) {
    const Node first = graph().node(group[0]);
    std::vector<ValueId> weights;
    for (NodeId id : group) {
      PLICA_TRY(weights.emplace_back(), patch_.add(transpose_op, ops::Transpose{{1, 0}}, {graph().node(id).inputs[1]}));
    }
    ValueId weight = weights[0];
    if (weights.size() > 1) {
      PLICA_TRY(weight, patch_.add(concat_op, ops::Concat{0}, std::move(weights)));
    }
    PLICA_TRY(const ValueId x, swap(first.inputs[0], rank_ - 2));
    PLICA_TRY(const ValueId product, patch_.add(mat_mul_op, first.attrs, {weight, x}));  // (..., I, O, K)
    PLICA_TRY(const ValueId all, swap(product, rank_ - 3));
    int64_t at = 0;
    for (NodeId id : group) {
      const ValueId output = graph().node(id).outputs[0];
      ops::Slice slice;
      slice.sizes = graph().type(output).shape;
      raise_last(slice.sizes);
      slice.starts.assign(rank_, 0);
      slice.steps.assign(rank_, 1);
      slice.starts[rank_ - 3] = at;
      at += slice.sizes[rank_ - 3];
      made_[output] = all;
      if (group.size() > 1) {
        PLICA_TRY(made_[output], patch_.add(slice_op, std::move(slice), {all}));
      }
    }
    return {};
  }

  Patch& patch_;
  const Tree& tree_;
  size_t rank_;
  std::unordered_map<ValueId, ValueId> made_;
};

// Whether the product's operands were rewritten.
Result<bool> rewrite(Graph& graph, const KnownValues& known, NodeId product) {
  const std::vector<ValueId> operands = graph.node(product).inputs;
  const NodeId left = channels_to_batch(graph, operands[0]), right = channels_to_batch(graph, operands[1]);
  if (left == kNone || right == kNone) return false;
  const size_t rank = graph.type(operands[0]).shape.size();
  Tree tree(graph, known, rank);
  if (!tree.collect(graph.node(left).inputs[0]) || !tree.collect(graph.node(right).inputs[0])) return false;
  if (!tree.is_read_by({left, right})) return false;
  Patch patch(graph, graph.node(product).name);
  Builder builder(patch, tree, rank);
  PLICA_CHECK(builder.build_projections());
  std::vector<NodeId> transposes{left};
  if (right != left) transposes.push_back(right);
  for (NodeId id : transposes) {
    ops::Transpose transpose = graph.node(id).attrs.as<ops::Transpose>();
    for (int64_t& axis : transpose.perm) axis = raised(axis, rank);
    const ValueId from = graph.node(id).inputs[0], output = graph.node(id).outputs[0];
    PLICA_TRY(const ValueId whole, builder.build(from));
    PLICA_TRY(const ValueId made, patch.add(transpose_op, std::move(transpose), {whole}));
    patch.replace(output, made);
  }
  PLICA_CHECK(patch.apply());
  return true;
}

}  // namespace

// A product over channels (triangle multiplication) reads its gated projections with channels in front of the residues.
// They are computed so: weights times columns of residues in place of rows of residues times weights, all in one product,
// and the element-wise steps behind it write what the product over channels reads, without a copy.
Result<int> put_channels_first(Graph& graph, ConstantStore&) {
  const KnownValues known(graph);
  const std::vector<NodeId> order = graph.order();
  int num_edits = 0;
  for (NodeId id : order) {
    if (graph.node(id).op != &mat_mul_op) continue;
    PLICA_TRY(const bool done, rewrite(graph, known, id));
    num_edits += done;
  }
  return num_edits;
}

}  // namespace plica
