#pragma once

#include "graph/compiled_rule.h"
#include "graph/patch.h"

namespace plica {

// Looks for one rule at one node, and rewrites what it finds. Every order of commutative operands is tried until
// one satisfies the whole rule: its text, its uses, its `when`, and the types of what it puts in place.
class Matcher {
 public:
  Matcher(Graph& graph, const CompiledRule& rule) : graph_(graph), rule_(rule), match_(graph, rule) {}

  // Whether the rule matched at `root` and was applied; then `touched` holds the new nodes and the readers of all that
  // the match read.
  bool rewrite(NodeId root, std::vector<NodeId>& touched);

 private:
  // What is left to be matched, as a list on the stack.
  struct Goal {
    const PatternOperand* operand;
    ValueId value;
    const Goal* next;
  };

  bool solve(const Goal* goal);
  bool solve_value(const Goal& goal);
  bool solve_scalar(const Goal& goal);
  bool solve_node(const Goal& goal);
  bool enter(int pattern_node, NodeId node, const Goal* next);
  bool solve_operands(const PatternNode& pattern, const Node& node, const Goal* next);
  bool test_attrs(const PatternNode& pattern, const Node& node, std::vector<int>& bound);
  bool next_root();
  bool accept();
  bool escapes() const;
  bool would_loop() const;
  bool replace();

  Graph& graph_;
  const CompiledRule& rule_;
  Match match_;
  size_t num_roots_ = 0;
  std::vector<NodeId>* touched_ = nullptr;
};

}  // namespace plica
