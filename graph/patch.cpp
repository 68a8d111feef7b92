#include "graph/patch.h"

#include <algorithm>

namespace plica {

Result<NodeId> Patch::add_node(const OpDef& op, Attrs attrs, std::vector<ValueId> inputs) {
  PLICA_TRY(NodeId node, graph_.add_node(op, std::move(attrs), std::move(inputs), name_));
  added_.push_back(node);
  return node;
}

Result<ValueId> Patch::add(const OpDef& op, Attrs attrs, std::vector<ValueId> inputs) {
  PLICA_TRY(NodeId node, add_node(op, std::move(attrs), std::move(inputs)));
  return graph_.node(node).outputs[0];
}

bool Patch::fits() const {
  return std::all_of(replacements_.begin(), replacements_.end(),
                     [&](const auto& pair) { return graph_.type(pair.first) == graph_.type(pair.second); });
}

Status Patch::apply() {
  for (const auto& [from, to] : replacements_)
    if (graph_.type(from) != graph_.type(to))
      return Error(Code::kInternal, "a patch replaces a value of type " + to_string(graph_.type(from)) +
                                        " by one of type " + to_string(graph_.type(to)));
  for (const auto& [from, to] : replacements_) {
    graph_.replace_uses(from, to);
    if (graph_.value(to).name.empty()) graph_.set_name(to, graph_.value(from).name);
    if (const NodeId producer = graph_.value(from).producer; producer != kNone) erased_.push_back(producer);
  }
  for (NodeId node : erased_) graph_.remove_if_dead(node);
  drop_unused();
  return {};
}

void Patch::drop_unused() {
  for (size_t i = added_.size(); i-- > 0;) graph_.remove_if_dead(added_[i]);
}

}  // namespace plica
