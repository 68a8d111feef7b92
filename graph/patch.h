#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace plica {

// One edit of a graph, all or nothing. New nodes stand beside the old ones until apply(); without it they vanish again.
class Patch {
 public:
  // New nodes are named `name`, for messages.
  explicit Patch(Graph& graph, std::string name = {}) : graph_(graph), name_(std::move(name)) {}
  Patch(const Patch&) = delete;
  Patch& operator=(const Patch&) = delete;
  ~Patch() { drop_unused(); }

  // The first output of a new node; add_node gives the node itself.
  Result<ValueId> add(const OpDef& op, Attrs attrs, std::vector<ValueId> inputs);
  Result<NodeId> add_node(const OpDef& op, Attrs attrs, std::vector<ValueId> inputs);
  ValueId add_constant(ConstantPtr constant) { return graph_.add_constant(std::move(constant)); }

  // At apply(), all uses of `from` become uses of `to`.
  void replace(ValueId from, ValueId to) { replacements_.emplace_back(from, to); }

  // At apply(), the node goes if nobody uses it. Makers of replaced values need not be named.
  void erase(NodeId node) { erased_.push_back(node); }

  // Whether every value is replaced by one of its own type.
  bool fits() const;

  // Replaces, then removes what nobody uses. kInternal, and no edit, where !fits().
  Status apply();

  const Graph& graph() const { return graph_; }
  std::span<const NodeId> added() const { return added_; }
  std::span<const std::pair<ValueId, ValueId>> replacements() const { return replacements_; }

 private:
  void drop_unused();

  Graph& graph_;
  std::string name_;
  std::vector<NodeId> added_, erased_;
  std::vector<std::pair<ValueId, ValueId>> replacements_;
};

}  // namespace plica
