#pragma once

#include <unordered_map>

#include "graph/compiled_rule.h"
#include "graph/patch.h"

namespace plica {

// Builds the replacement of a match in a patch.
class Rewriter {
 public:
  Rewriter(const Match& match, Patch& patch) : match_(match), patch_(patch) {}

  // Adds all nodes and records what is replaced. An error where an operator does not take its operands.
  Status run();

 private:
  Result<ValueId> build(const Expression& expression);
  Result<ValueId> build_call(const Expression& expression);
  Result<Attrs> attrs_of(const OpDef& op, const Expression& expression) const;
  Result<double> number_of(const Expression& expression) const;
  DType dtype_beside(const Expression& call, const std::vector<ValueId>& inputs) const;

  const Match& match_;
  Patch& patch_;
  std::unordered_map<std::string, ValueId> made_;
};

}  // namespace plica
