#include "runtime/exec/parts.h"

#include <algorithm>

#include "ops/concat.h"
#include "ops/slice.h"

namespace plica {
namespace {

class Finder {
 public:
  Finder(const Graph& graph, const std::vector<NodeId>& order) : graph_(graph), position_(graph.num_nodes(), -1) {
    for (size_t i = 0; i < order.size(); ++i) position_[static_cast<size_t>(order[i])] = static_cast<int>(i);
  }

  Parts find(const std::vector<NodeId>& order) {
    for (NodeId id : order)
      if (is_made_of_parts(graph_.node(id))) add(graph_.node(id));
    for (auto& [whole, base] : found_.wholes) base = base_of(graph_.node(graph_.value(whole).producer));
    return std::move(found_);
  }

 private:
  // What makes a part is a step, and nobody else reads it.
  bool is_made_of_parts(const Node& node) const {
    return node.op == &concat_op && std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
             const Value& value = graph_.value(input);
             return value.producer != kNone && !graph_.node(value.producer).op->is_view && value.users.size() == 1 &&
                    !graph_.is_output(input) && found_.parts.count(input) == 0 && found_.wholes.count(input) == 0;
           });
  }

  static size_t axis_of(const Node& concat) { return static_cast<size_t>(concat.attrs.as<ops::Concat>().axis); }

  void add(const Node& concat) {
    int64_t start = 0;
    for (ValueId input : concat.inputs) {
      found_.parts.emplace(input, Part{concat.outputs[0], axis_of(concat), start});
      start += graph_.type(input).shape[axis_of(concat)];
    }
    found_.wholes.emplace(concat.outputs[0], kNone);
  }

  // Where a node cuts `size` elements from `start` on out of an axis, and nothing out of the others.
  bool is_slice(NodeId id, size_t axis, int64_t start, const Shape& sizes) const {
    const Node& node = graph_.node(id);
    if (node.op != &slice_op) return false;
    const auto& slice = node.attrs.as<ops::Slice>();
    for (size_t i = 0; i < sizes.size(); ++i)
      if (slice.steps[i] != 1 || slice.starts[i] != (i == axis ? start : 0)) return false;
    return slice.sizes == sizes;
  }

  // The value of which the step reads, as that operand, what will be `part`; kNone: it reads no such thing.
  ValueId source_of(ValueId part, size_t operand, size_t axis, int64_t start) const {
    const auto& inputs = graph_.node(graph_.value(part).producer).inputs;
    const ValueId input = operand < inputs.size() ? inputs[operand] : kNone;
    const NodeId producer = input == kNone ? kNone : graph_.value(input).producer;
    const bool is_own = producer != kNone && is_slice(producer, axis, start, graph_.type(part).shape);
    return is_own ? graph_.node(producer).inputs[0] : kNone;
  }

  // The last step that reads the value, through views too.
  int last_read(ValueId id) const {
    int last = -1;
    for (NodeId user : graph_.value(id).users) {
      const Node& node = graph_.node(user);
      last = std::max(last, node.op->is_view ? last_read(node.outputs[0]) : position_[static_cast<size_t>(user)]);
    }
    return last;
  }

  // What is added to a result is the last operand of what makes it.
  ValueId base_of(const Node& concat) const {
    size_t operand = graph_.node(graph_.value(concat.inputs[0]).producer).inputs.size();
    while (operand-- > 0) {
      const ValueId base = source_of(concat.inputs[0], operand, axis_of(concat), 0);
      if (base != kNone && owns_memory(base) && graph_.type(base) == graph_.type(concat.outputs[0]) &&
          gives_way(base, operand, concat))
        return base;
    }
    return kNone;
  }

  bool owns_memory(ValueId id) const {
    const NodeId producer = graph_.value(id).producer;
    return producer != kNone && !graph_.node(producer).op->is_view && !graph_.is_output(id) &&
           found_.parts.count(id) == 0;
  }

  // Whether what the parts add to is read by nobody once they stand there.
  bool gives_way(ValueId base, size_t operand, const Node& concat) const {
    const size_t axis = axis_of(concat);
    std::vector<NodeId> others = graph_.value(base).users;
    int first = position_.empty() ? 0 : static_cast<int>(position_.size());
    int64_t start = 0;
    for (ValueId part : concat.inputs) {
      const Shape& sizes = graph_.type(part).shape;
      const int step = position_[static_cast<size_t>(graph_.value(part).producer)];
      first = std::min(first, step);
      if (source_of(part, operand, axis, start) != base) return false;
      const auto is_own = [&](NodeId user) {
        return is_slice(user, axis, start, sizes) && last_read(graph_.node(user).outputs[0]) <= step;
      };
      others.erase(std::remove_if(others.begin(), others.end(), is_own), others.end());
      start += sizes[axis];
    }
    return std::all_of(others.begin(), others.end(), [&](NodeId user) {
      const Node& node = graph_.node(user);
      const int last = node.op->is_view ? last_read(node.outputs[0]) : position_[static_cast<size_t>(user)];
      return last < first;
    });
  }

  const Graph& graph_;
  std::vector<int> position_;  // by NodeId: when it runs
  Parts found_;
};

}  // namespace

Parts find_parts(const Graph& graph, const std::vector<NodeId>& order) { return Finder(graph, order).find(order); }

}  // namespace plica
