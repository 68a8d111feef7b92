#pragma once

#include <string>
#include <vector>

#include "graph/compiled_rule.h"
#include "graph/patch.h"

namespace plica {

// How far a rule came at a node: the nodes that it had found when it had most, and what stood in the way of the next one.
struct Attempt {
  std::vector<NodeId> nodes;
  NodeId found_instead = kNone;
  std::string why;
};

// Looks for one rule at one node, and rewrites what it finds. Every order of commutative operands is tried until
// one satisfies the whole rule: its text, its uses, its `when`, and the types of what it puts in place.
class Matcher {
 public:
  Matcher(Graph& graph, const CompiledRule& rule) : graph_(graph), rule_(rule), match_(graph, rule) {}

  // Whether the rule matched at `root` and was applied; then `touched` holds the new nodes and the readers of all that
  // the match read.
  bool rewrite(NodeId root, std::vector<NodeId>& touched);

  // The same without applying it. Where the rule matches, `why` says so.
  Attempt attempt(NodeId root);

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
  ValueId escaping() const;
  bool would_loop() const;
  bool replace();

  // No match here, because of what `say` says; only an attempt listens. `instead`: the value found in place of another.
  template <class Say>
  bool refuse(Say&& say, ValueId instead = kNone) {
    if (attempt_ != nullptr) note(say(), instead);
    return false;
  }
  void note(std::string why, ValueId instead);
  std::string describe(ValueId value) const;
  std::string describe_operands() const;

  Graph& graph_;
  const CompiledRule& rule_;
  Match match_;
  size_t num_roots_ = 0;
  std::vector<NodeId>* touched_ = nullptr;
  Attempt* attempt_ = nullptr;
};

}  // namespace plica
