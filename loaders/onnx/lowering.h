#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loaders/onnx/emitter.h"
#include "loaders/onnx/module.h"
#include "runtime/exec/signature.h"

namespace plica::onnx {

// An operand or result that may be a sequence: values that exist while lowering only.
struct Operand {
  Id value = kNone;
  std::optional<Ids> elements;  // of a sequence
};

// Numbers that an operator would draw anew in each run, at least `low` and below `high`. None are made: comparisons that hold for all
// of them, such as those of a dropout that drops nothing, are all that may read them.
struct RandomNumbers {
  Shape shape;
  double low = 0, high = 1;
};

// What a row of the operator table sees: the node, its operands in the graph under construction, and ways to add to it.
// Operands that the row declares as needed are present.
class Lowering : public Emitter {
 public:
  Lowering(const Module& module, const Signature& signature) : module_(module), signature_(signature) {}

  Status run();  // the main graph
  Graph take_graph() { return std::move(graph_); }
  const NeedsValues& needs() const { return needs_; }  // not empty: why run() gave an error

  const Module& module() const { return module_; }
  const Node& node() const { return *node_; }
  int64_t version() const { return node_->version; }

  size_t num_inputs() const { return node_->inputs.size(); }
  Id in(size_t i) const;  // kNone where absent
  bool has(size_t i) const { return in(i) != kNone; }
  Ids all_inputs() const;
  Operand operand(size_t i) const;

  // The value of operand i. Where it hangs on inputs that the signature does not bind, an error; needs() names them.
  Result<ConstantPtr> known(size_t i);
  Result<ConstantPtr> known_value(Id id);  // of any value, likewise
  Result<std::vector<int64_t>> known_ints(size_t i);
  Result<std::vector<double>> known_doubles(size_t i);

  // Axes from the operand where the operator has one and it is present, else from the attribute; normalised and sorted.
  Result<std::vector<int64_t>> axes_of(size_t operand, int64_t rank);
  Result<int64_t> axis(std::string_view attribute, int64_t absent, int64_t rank);

  // Attributes of the node.
  Result<int64_t> attr(std::string_view name, int64_t absent) const { return int_attribute(*node_, name, absent); }
  Result<bool> flag(std::string_view name, bool absent) const;
  Result<double> real(std::string_view name, double absent) const;
  Result<DType> dtype_attr(std::string_view name, DType absent) const;

  // Sets output o of the node.
  Status give(Result<Id> value) { return give(0, std::move(value)); }
  Status give(size_t o, Result<Id> value);
  Status give_sequence(size_t o, Ids values);
  Status give(size_t o, Operand value);
  Status give_random(RandomNumbers numbers);
  bool wants(size_t o) const { return o < node_->outputs.size() && node_->outputs[o] != kNoValue; }
  const Ids* sequence(size_t i) const;          // the elements, where operand i is a sequence
  const RandomNumbers* random(size_t i) const;  // where operand i is such; in(i) is kNone then

  // The outputs of a body with its inputs bound. Bodies may be lowered any number of times.
  Result<std::vector<Operand>> lower_body(int32_t body, const std::vector<Operand>& inputs);

 private:
  Status add_inputs();
  Status lower_nodes(const Body& body);
  Status lower_node(const Node& node);
  Result<Id> resolve(onnx::ValueId value);
  Error not_made(onnx::ValueId value) const;
  void bind(onnx::ValueId value, const Operand& operand);
  Error needs_error(Id id);

  const Module& module_;
  const Signature& signature_;
  NeedsValues needs_;
  const Node* node_ = nullptr;
  Ids operands_;               // of the node
  Ids values_;                 // by the module's value ids; kNone: not made yet
  std::vector<Id> constants_;  // by the module's constant ids
  std::unordered_map<onnx::ValueId, Ids> sequences_;
  std::unordered_map<onnx::ValueId, RandomNumbers> random_;
};

// One row of the operator table.
struct OpRow {
  std::string_view type;
  int64_t since;      // the first version of the operator set with this meaning
  size_t num_needed;  // operands that must be present
  Status (*lower)(Lowering&);
  std::string_view domain = "";
};

// The row for an operator at a version; null where there is none.
const OpRow* find_row(std::string_view domain, std::string_view type, int64_t version);

// Errors of kInvalidModel and kUnsupported.
Error invalid_model(std::string what);
Error unsupported(std::string what);

}  // namespace plica::onnx
