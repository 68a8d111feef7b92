#include "graph/pattern.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "graph/compiled_rule.h"
#include "graph/matcher.h"

namespace plica {
namespace {

// Nodes that wait for a look, each at most once at a time.
class Worklist {
 public:
  void push(NodeId id) {
    if (static_cast<size_t>(id) >= waiting_.size()) waiting_.resize(static_cast<size_t>(id) + 1, false);
    if (waiting_[static_cast<size_t>(id)]) return;
    waiting_[static_cast<size_t>(id)] = true;
    queue_.push_back(id);
  }

  // The node and all that read it within `depth` steps: where its change may have completed a match.
  void push_with_readers(const Graph& graph, NodeId id, int depth) {
    if (graph.node(id).op == nullptr) return;
    push(id);
    if (depth <= 1) return;
    for (ValueId output : graph.node(id).outputs)
      for (NodeId user : graph.value(output).users) push_with_readers(graph, user, depth - 1);
  }

  bool empty() const { return queue_.empty(); }
  NodeId pop() {
    const NodeId id = queue_.front();
    queue_.pop_front();
    waiting_[static_cast<size_t>(id)] = false;
    return id;
  }

 private:
  std::deque<NodeId> queue_;
  std::vector<bool> waiting_;
};

}  // namespace

RuleSet::RuleSet() = default;
RuleSet::RuleSet(RuleSet&&) noexcept = default;
RuleSet::~RuleSet() = default;

Result<RuleSet> RuleSet::parse(std::span<const Rule> rules) {
  RuleSet set;
  for (const Rule& rule : rules) {
    PLICA_TRY(CompiledRule compiled, compile(rule));
    set.depth_ = std::max(set.depth_, compiled.depth);
    const auto op =
        std::find(all_ops().begin(), all_ops().end(), compiled.nodes[static_cast<size_t>(compiled.roots[0])].op);
    set.by_root_[*op].push_back(std::make_unique<const CompiledRule>(std::move(compiled)));
  }
  return set;
}

Result<int> RuleSet::apply(Graph& graph, std::string_view only) const {
  Worklist work;
  for (NodeId id : graph.order()) work.push(id);
  int num_applied = 0;
  std::vector<NodeId> touched;
  while (!work.empty()) {
    const NodeId id = work.pop();
    const OpDef* op = graph.node(id).op;
    const auto found = op == nullptr ? by_root_.end() : by_root_.find(op);
    if (found == by_root_.end()) continue;
    for (const auto& rule : found->second) {
      if (!only.empty() && rule->rule->name != only) continue;
      touched.clear();
      if (!Matcher(graph, *rule).rewrite(id, touched)) continue;
      if (++num_applied > kMaxApplied)
        return Error(Code::kInternal, "rule '" + std::string(rule->rule->name) + "' never comes to an end");
      for (NodeId changed : touched) work.push_with_readers(graph, changed, depth_);
      break;
    }
  }
  return num_applied;
}

Result<int> apply_rules(Graph& graph, const Result<RuleSet>& rules) {
  if (!rules) return rules.error();
  return rules->apply(graph);
}

}  // namespace plica
