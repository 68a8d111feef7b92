#include "graph/near_miss.h"

#include <algorithm>

#include "graph/matcher.h"
#include "runtime/core/result.h"

namespace plica {
namespace {

bool has_to_do_with(const Graph& graph, const Attempt& attempt, std::string_view name) {
  const auto is_it = [&](NodeId id) { return id != kNone && is_named(graph, id, name); };
  return is_it(attempt.found_instead) || std::any_of(attempt.nodes.begin(), attempt.nodes.end(), is_it);
}

}  // namespace

bool is_named(const Graph& graph, NodeId id, std::string_view name) {
  const Node& node = graph.node(id);
  return node.name == name || std::any_of(node.outputs.begin(), node.outputs.end(),
                                          [&](ValueId output) { return graph.value(output).name == name; });
}

Result<std::vector<NearMiss>> near_misses(Graph& graph, std::span<const Rule> rules, std::string_view node_name) {
  std::vector<NearMiss> misses;
  for (const Rule& rule : rules) {
    PLICA_TRY(const CompiledRule compiled, compile(rule));
    NearMiss best;
    for (NodeId root : graph.order()) {
      const Attempt attempt = Matcher(graph, compiled).attempt(root);
      if (attempt.nodes.size() < 2 || attempt.nodes.size() <= best.num_matched) continue;
      if (has_to_do_with(graph, attempt, node_name))
        best = {rule.name, attempt.nodes.size(), compiled.nodes.size(), root, attempt.why};
    }
    if (best.root != kNone) misses.push_back(std::move(best));
  }
  std::stable_sort(misses.begin(), misses.end(), [](const NearMiss& a, const NearMiss& b) {
    return a.num_matched * b.num_wanted > b.num_matched * a.num_wanted;
  });
  return misses;
}

}  // namespace plica
