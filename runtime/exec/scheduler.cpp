#include "runtime/exec/scheduler.h"

#include <algorithm>
#include <unordered_set>

#include "ops/concat.h"
#include "runtime/core/shape.h"
#include "runtime/exec/parts.h"

namespace plica {
namespace {

// Which memory each value lies in (views share that of what they look at), and how much it is. What parts are written into counts
// from the first of them on where they are given.
class Memory {
 public:
  explicit Memory(const Graph& graph, Parts parts = {})
      : graph_(graph), parts_(std::move(parts)), root_(graph.num_values()), bytes_(graph.num_values(), 0) {
    for (size_t i = 0; i < root_.size(); ++i) root_[i] = static_cast<ValueId>(i);
    for (NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      for (ValueId output : node.outputs) {
        if (node.op->is_view) {
          root_[at(output)] = root_[at(node.inputs[0])];
        } else {
          bytes_[at(output)] =
              parts_.parts.count(output) != 0 ? 0 : static_cast<int64_t>(num_bytes(graph.type(output)));
        }
      }
    }
    uses_.assign(graph.num_values(), 0);
    for (size_t i = 0; i < root_.size(); ++i)
      uses_[at(root_[i])] += static_cast<int>(graph.value(static_cast<ValueId>(i)).users.size());
    for (ValueId output : graph.outputs()) ++uses_[at(root_[at(output)])];
  }

  // Bytes that running the node takes, minus those that it sets free.
  int64_t growth(const Node& node) const {
    int64_t bytes = 0;
    for (ValueId output : node.outputs) bytes += bytes_[at(output)];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input == kNone || std::find(node.inputs.begin(), node.inputs.begin() + static_cast<int64_t>(i), input) !=
                                node.inputs.begin() + static_cast<int64_t>(i))
        continue;
      const size_t root = at(root_[at(input)]);
      if (uses_[root] == std::count(node.inputs.begin(), node.inputs.end(), input)) bytes -= bytes_[root];
    }
    return node.op->is_view ? 0 : bytes;
  }

  // Runs the node; the most bytes that were live meanwhile.
  int64_t run(const Node& node) {
    for (ValueId output : node.outputs) {
      const auto part = parts_.parts.find(output);
      const ValueId made = part == parts_.parts.end() ? output : part->second.whole;
      if (begun_.insert(made).second) live_ += bytes_[at(made)];
    }
    const int64_t peak = live_;
    for (ValueId input : node.inputs) {
      if (input == kNone) continue;
      const size_t root = at(root_[at(input)]);
      if (--uses_[root] == 0) live_ -= bytes_[root];
    }
    for (ValueId output : node.outputs)
      if (!node.op->is_view && uses_[at(output)] == 0) live_ -= bytes_[at(output)];
    return peak;
  }

 private:
  static size_t at(ValueId id) { return static_cast<size_t>(id); }

  const Graph& graph_;
  const Parts parts_;
  std::unordered_set<ValueId> begun_;  // values whose memory is taken
  std::vector<ValueId> root_;
  std::vector<int64_t> bytes_;
  std::vector<int> uses_;
  int64_t live_ = 0;
};

// Of the nodes that can run, always the one that grows memory least; the earlier one of equals.
std::vector<NodeId> least_growth_order(const Graph& graph, const std::vector<NodeId>& order) {
  Memory memory(graph);
  std::vector<int> missing(graph.num_nodes(), 0);
  std::vector<NodeId> ready, result;
  std::vector<int> position(graph.num_nodes(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    const auto id = static_cast<size_t>(order[i]);
    position[id] = static_cast<int>(i);
    for (ValueId input : graph.node(order[i]).inputs)
      missing[id] += input != kNone && graph.value(input).producer != kNone;
    if (missing[id] == 0) ready.push_back(order[i]);
  }
  while (!ready.empty()) {
    const auto next = std::min_element(ready.begin(), ready.end(), [&](NodeId a, NodeId b) {
      const auto rank = [&](NodeId id) {
        return std::pair(memory.growth(graph.node(id)), position[static_cast<size_t>(id)]);
      };
      return rank(a) < rank(b);
    });
    const NodeId id = *next;
    ready.erase(next);
    result.push_back(id);
    memory.run(graph.node(id));
    for (ValueId output : graph.node(id).outputs)
      for (NodeId user : graph.value(output).users)
        if (--missing[static_cast<size_t>(user)] == 0) ready.push_back(user);
  }
  return result;
}

// A part of what a Concat puts together.
bool makes_part(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op->is_view || node.outputs.size() != 1 || graph.is_output(node.outputs[0])) return false;
  const auto& users = graph.value(node.outputs[0]).users;
  return users.size() == 1 && graph.node(users[0]).op == &concat_op;
}

// Where all that reads a value makes parts, it is read right behind the step that makes it: the next tile's takes its memory.
std::vector<NodeId> with_readers_behind(const Graph& graph, const std::vector<NodeId>& order) {
  std::vector<NodeId> result;
  std::vector<bool> placed(graph.num_nodes(), false);
  const auto place = [&](NodeId id) {
    if (!placed[static_cast<size_t>(id)]) result.push_back(id);
    placed[static_cast<size_t>(id)] = true;
  };
  // Views of what is there are ready too.
  const auto is_ready = [&](NodeId id, auto&& self) -> bool {
    const auto& inputs = graph.node(id).inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      const NodeId producer = input == kNone ? kNone : graph.value(input).producer;
      if (producer == kNone || placed[static_cast<size_t>(producer)]) return true;
      return graph.node(producer).op->is_view && self(producer, self);
    });
  };
  const auto place_with_views = [&](NodeId id, auto&& self) -> void {
    for (ValueId input : graph.node(id).inputs)
      if (input != kNone && graph.value(input).producer != kNone &&
          !placed[static_cast<size_t>(graph.value(input).producer)])
        self(graph.value(input).producer, self);
    place(id);
  };
  for (NodeId id : order) {
    place(id);
    if (graph.node(id).op->is_view || graph.node(id).outputs.size() != 1) continue;
    const auto& readers = graph.value(graph.node(id).outputs[0]).users;
    if (std::all_of(readers.begin(), readers.end(),
                    [&](NodeId reader) { return makes_part(graph, reader) && is_ready(reader, is_ready); }))
      for (NodeId reader : readers) place_with_views(reader, place_with_views);
  }
  return result;
}

size_t peak_of(const Graph& graph, Memory memory, const std::vector<NodeId>& order) {
  int64_t peak = 0;
  for (NodeId id : order) peak = std::max(peak, memory.run(graph.node(id)));
  return static_cast<size_t>(peak);
}

}  // namespace

size_t peak_bytes(const Graph& graph, const std::vector<NodeId>& order) { return peak_of(graph, Memory(graph), order); }

std::vector<NodeId> schedule(const Graph& graph) {
  std::vector<NodeId> order = graph.order();
  std::vector<NodeId> greedy = least_growth_order(graph, order);
  std::vector<NodeId>& best = peak_bytes(graph, greedy) < peak_bytes(graph, order) ? greedy : order;
  std::vector<NodeId> moved = with_readers_behind(graph, best);
  const auto peak_with_parts = [&](const std::vector<NodeId>& nodes) {
    return peak_of(graph, Memory(graph, find_parts(graph, nodes)), nodes);
  };
  return peak_with_parts(moved) <= peak_with_parts(best) ? moved : best;
}

}  // namespace plica
