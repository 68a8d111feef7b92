#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace plica {

using ValueId = int32_t;
using NodeId = int32_t;
constexpr int32_t kNone = -1;  // no value, no node

// What one node makes and others read: a graph input, a constant, or an output of a node.
struct Value {
  std::string name;           // of the file where it has one, else empty; printed as %id
  TensorType type;            // dtype and shape, always known; strides are the planner's
  NodeId producer = kNone;    // kNone for inputs and constants
  int output_idx = 0;         // of the producer
  ConstantPtr constant;       // where the value is known
  std::vector<NodeId> users;  // one entry a use, so that a node using it twice stands twice
};

struct Node {
  const OpDef* op = nullptr;  // null: the node is gone
  Attrs attrs;
  std::vector<ValueId> inputs;  // kNone where an optional input is absent
  std::vector<ValueId> outputs;
  std::string name;  // of the file's node that it stems from, for messages
};

// A graph of small operators for one signature: every dtype and shape is known. Owns nodes and values by id; ids are never
// reused. Not thread-safe.
class Graph {
 public:
  ValueId add_input(std::string name, TensorType type);
  ValueId add_constant(ConstantPtr constant, std::string name = {});

  // Adds a node, inferring the types of its outputs. kInvalidModel with the operator's message where they do not fit.
  Result<NodeId> add_node(const OpDef& op, Attrs attrs, std::vector<ValueId> inputs, std::string name = {});

  void add_output(std::string name, ValueId value);

  // Input i becomes a new value of this type; returns it. The old one keeps its users, to whom something else must be given.
  ValueId replace_input(size_t i, TensorType type);
  void set_output(size_t i, ValueId value) { outputs_[i] = value; }

  // Of the outputs those of these indices stay, in this order; what nobody uses then goes.
  void select_outputs(std::span<const size_t> indices);

  // What the file spelled out and no node tells any more: a branch that was taken, a table that was looked up at once.
  void note(std::string structure) { noted_.push_back(std::move(structure)); }
  std::span<const std::string> noted() const { return noted_; }

  // All uses of `from`, graph outputs too, become uses of `to` (same dtype and shape). `from` keeps its producer.
  void replace_uses(ValueId from, ValueId to);
  void set_input(NodeId node, size_t input_idx, ValueId value);
  void set_name(ValueId value, std::string name) { values_[static_cast<size_t>(value)].name = std::move(name); }

  // Removes the node and then every producer of its inputs that nobody uses any more.
  void remove_if_dead(NodeId node);
  void remove_dead();

  const Value& value(ValueId id) const { return values_[static_cast<size_t>(id)]; }
  const Node& node(NodeId id) const { return nodes_[static_cast<size_t>(id)]; }
  const TensorType& type(ValueId id) const { return value(id).type; }
  const Constant* constant(ValueId id) const { return id == kNone ? nullptr : value(id).constant.get(); }
  size_t num_nodes() const { return nodes_.size(); }  // ids below this; some may be gone
  size_t num_values() const { return values_.size(); }

  std::span<const ValueId> inputs() const { return inputs_; }
  std::span<const ValueId> outputs() const { return outputs_; }
  const std::string& output_name(size_t i) const { return output_names_[i]; }
  bool is_output(ValueId id) const;

  // The node that makes `id` if it is of operator `op`, else kNone.
  NodeId producer_of(ValueId id, const OpDef& op) const;

  // Live nodes, each behind the makers of its inputs; otherwise in the order of ids.
  std::vector<NodeId> order() const;

  // kInternal naming the first rule that is broken: users match inputs, types match inference, no cycle, outputs exist.
  Status verify() const;

 private:
  ValueId add_value(Value value);

  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<ValueId> inputs_, outputs_;
  std::vector<std::string> output_names_;
  std::vector<std::string> noted_;
};

}  // namespace plica
