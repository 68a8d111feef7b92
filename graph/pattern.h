#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "graph/syntax.h"

namespace plica {

struct CompiledRule;

// What one rule found: a value for each of its names, a number or attribute for each capture.
class Match {
 public:
  explicit Match(const Graph& graph, const CompiledRule& rule);

  const Graph& graph() const { return graph_; }
  ValueId value(std::string_view name) const;  // kNone where it is optional and absent
  bool has(std::string_view name) const { return value(name) != kNone; }
  const TensorType& type(std::string_view name) const { return graph_.type(value(name)); }
  const Shape& shape(std::string_view name) const { return type(name).shape; }
  double number(std::string_view capture) const;  // with its $
  const AttrValue& attr(std::string_view capture) const;
  const std::vector<int64_t>& list(std::string_view capture) const;

  // Gives a capture that the replacement uses and the match does not bind.
  void set(std::string_view capture, AttrValue value);

 private:
  friend class Matcher;
  friend class Rewriter;
  const Graph& graph_;
  const CompiledRule& rule_;
  std::vector<ValueId> values_;                     // by name slot
  std::vector<std::optional<AttrValue>> captures_;  // by capture slot
  std::vector<NodeId> nodes_;                       // by pattern node
};

// A rewriting rule as text. In `match`, statements are read together: a name is a value (the same one wherever it
// stands), `name?` an optional input, `_` an absent one, a number a constant with that value everywhere, $name in an
// operand's place such a constant of any value, $name behind an attribute that attribute; attributes that are not
// listed have their defaults; `axis` and `axes` below zero count from the end of the first operand. Operands of
// commutative operators match in both orders.
//
// Values that `replace` defines are replaced. All others that `match` defines must not be used outside it, but for
// views, which cost nothing; unless the rule `shares`: then they stay for their other readers. `replace` may compute with captures: {scale=$a*$b}, Mul(x, 1/$a).
struct Rule {
  std::string_view name;
  std::string_view match;
  std::string_view replace;
  bool (*when)(Match&) = nullptr;  // what text cannot say; may set captures
  bool shares = false;
};

// Rules, parsed once and indexed by the operator of their root. Immutable.
class RuleSet {
 public:
  RuleSet(RuleSet&&) noexcept;
  ~RuleSet();
  static Result<RuleSet> parse(std::span<const Rule> rules);

  // Applies the rules until none matches; a worklist, no rescans. Returns how many times one did. Of the rules for one
  // operator the first that matches is taken. `only`: the rule of this name alone.
  Result<int> apply(Graph& graph, std::string_view only = {}) const;

 private:
  static constexpr int kMaxApplied = 1 << 20;  // a rule that undoes another is our fault, not an endless loop

  RuleSet();
  std::unordered_map<const OpDef*, std::vector<std::unique_ptr<const CompiledRule>>> by_root_;
  int depth_ = 0;  // of the deepest rule
};

// The body of a pass that is nothing but rules.
Result<int> apply_rules(Graph& graph, const Result<RuleSet>& rules);

}  // namespace plica
