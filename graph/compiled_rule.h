#pragma once

#include <string>
#include <vector>

#include "graph/pattern.h"

namespace plica {

// An operand of a pattern's node: what a value in its place must be.
struct PatternOperand {
  enum class Kind : uint8_t { kNode, kValue, kScalar, kNumber, kAbsent };
  Kind kind = Kind::kValue;
  int index = 0;       // of the pattern node, the value slot or the capture slot
  int output_idx = 0;  // of kNode
  double number = 0;   // of kNumber
  bool optional = false;
};

struct AttrTest {
  size_t field = 0;
  int capture = -1;  // its slot, or -1: compare with `value`
  AttrValue value;
  bool from_end = false;  // axes below zero
};

struct PatternNode {
  const OpDef* op = nullptr;
  std::vector<PatternOperand> operands;
  std::vector<AttrTest> tests;  // of all fields that are not at a fixed value
  Attrs fixed;                  // all attributes, where `tests` is empty
  int value_slot = -1;          // of its first output; -1: unnamed
  std::vector<int> output_slots;
};

// A rule made ready for matching.
struct CompiledRule {
  const Rule* rule = nullptr;
  std::vector<PatternNode> nodes;
  std::vector<int> roots;             // pattern nodes that no other reads; the first anchors the search
  std::vector<std::string> values;    // names by slot
  std::vector<std::string> captures;  // with their $
  std::vector<Statement> replacement;
  std::vector<bool> replaced;  // by value slot: the replacement defines it
  int depth = 0;

  int value_slot(std::string_view name) const;    // -1: unknown
  int capture_slot(std::string_view name) const;  // -1: unknown
};

Result<CompiledRule> compile(const Rule& rule);

}  // namespace plica
