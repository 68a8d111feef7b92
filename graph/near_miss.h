#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/pattern.h"

namespace plica {

// How far a rule came at a place of a graph where it does not apply.
struct NearMiss {
  std::string_view rule;
  size_t num_matched = 0, num_wanted = 0;  // nodes of its pattern that were found, that it has
  NodeId root = kNone;
  std::string why;  // "found Mul '/layer/Mul_3', wanted Sqrt"; "its condition does not hold for x = f32 2x8, g = f32 3"
};

// Whether the node has this name, in the file or as that of a value that it makes.
bool is_named(const Graph& graph, NodeId id, std::string_view name);

// Of each rule its best attempt that had to do with a node of this name: one that it had found, or found in place of what it
// wants. The best first; attempts that found no node but the root are left out. The graph stays as it is. kInternal where a rule is
// no rule.
Result<std::vector<NearMiss>> near_misses(Graph& graph, std::span<const Rule> rules, std::string_view node_name);

}  // namespace plica
