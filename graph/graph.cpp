#include "graph/graph.h"

#include <algorithm>

namespace plica {
namespace {

std::string place(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::string text = "node " + std::to_string(id) + " (" + std::string(node.op->name);
  if (!node.name.empty()) text.append(", '").append(node.name).append("'");
  return text.append(")");
}

std::vector<const TensorType*> types_of(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<const TensorType*> types;
  types.reserve(ids.size());
  for (ValueId id : ids) types.push_back(id == kNone ? nullptr : &graph.type(id));
  return types;
}

void drop_user(std::vector<NodeId>& users, NodeId node) {
  const auto found = std::find(users.begin(), users.end(), node);
  if (found != users.end()) users.erase(found);
}

}  // namespace

ValueId Graph::add_value(Value value) {
  values_.push_back(std::move(value));
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Graph::add_input(std::string name, TensorType type) {
  Value value;
  value.name = std::move(name);
  value.type = std::move(type);
  inputs_.push_back(add_value(std::move(value)));
  return inputs_.back();
}

ValueId Graph::add_constant(ConstantPtr constant, std::string name) {
  Value value;
  value.name = std::move(name);
  value.type = constant->type;
  value.constant = std::move(constant);
  return add_value(std::move(value));
}

Result<NodeId> Graph::add_node(const OpDef& op, Attrs attrs, std::vector<ValueId> inputs, std::string name) {
  if (!op.variadic()) inputs.resize(std::max(inputs.size(), op.inputs.size()), kNone);
  PLICA_TRY(Types types, infer_types(op, attrs, types_of(*this, inputs)));
  const auto id = static_cast<NodeId>(nodes_.size());
  for (ValueId input : inputs)
    if (input != kNone) values_[static_cast<size_t>(input)].users.push_back(id);
  Node node{&op, std::move(attrs), std::move(inputs), {}, std::move(name)};
  for (size_t i = 0; i < types.size(); ++i) {
    Value value;
    value.type = std::move(types[i]);
    value.producer = id;
    value.output_idx = static_cast<int>(i);
    node.outputs.push_back(add_value(std::move(value)));
  }
  nodes_.push_back(std::move(node));
  return id;
}

void Graph::add_output(std::string name, ValueId value) {
  outputs_.push_back(value);
  output_names_.push_back(std::move(name));
}

ValueId Graph::replace_input(size_t i, TensorType type) {
  Value value;
  value.name = values_[static_cast<size_t>(inputs_[i])].name;
  value.type = std::move(type);
  return inputs_[i] = add_value(std::move(value));
}

void Graph::select_outputs(std::span<const size_t> indices) {
  std::vector<ValueId> values;
  std::vector<std::string> names;
  for (size_t i : indices) {
    values.push_back(outputs_[i]);
    names.push_back(output_names_[i]);
  }
  outputs_ = std::move(values);
  output_names_ = std::move(names);
  remove_dead();
}

void Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  for (NodeId user : values_[static_cast<size_t>(from)].users) {
    std::vector<ValueId>& inputs = nodes_[static_cast<size_t>(user)].inputs;
    *std::find(inputs.begin(), inputs.end(), from) = to;
    values_[static_cast<size_t>(to)].users.push_back(user);
  }
  values_[static_cast<size_t>(from)].users.clear();
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::set_input(NodeId node, size_t input_idx, ValueId value) {
  ValueId& slot = nodes_[static_cast<size_t>(node)].inputs[input_idx];
  if (slot != kNone) drop_user(values_[static_cast<size_t>(slot)].users, node);
  slot = value;
  if (value != kNone) values_[static_cast<size_t>(value)].users.push_back(node);
}

void Graph::remove_if_dead(NodeId first) {
  std::vector<NodeId> pending{first};
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    Node& node = nodes_[static_cast<size_t>(id)];
    if (node.op == nullptr) continue;
    const bool used = std::any_of(node.outputs.begin(), node.outputs.end(),
                                  [&](ValueId v) { return !value(v).users.empty() || is_output(v); });
    if (used) continue;
    node.op = nullptr;
    for (ValueId input : node.inputs) {
      if (input == kNone) continue;
      Value& from = values_[static_cast<size_t>(input)];
      drop_user(from.users, id);
      if (from.users.empty() && from.producer != kNone) pending.push_back(from.producer);
    }
  }
}

void Graph::remove_dead() {
  for (NodeId id = static_cast<NodeId>(nodes_.size()); id-- > 0;) remove_if_dead(id);
}

bool Graph::is_output(ValueId id) const { return std::find(outputs_.begin(), outputs_.end(), id) != outputs_.end(); }

NodeId Graph::producer_of(ValueId id, const OpDef& op) const {
  if (id == kNone) return kNone;
  const NodeId producer = value(id).producer;
  return producer != kNone && node(producer).op == &op ? producer : kNone;
}

std::vector<NodeId> Graph::order() const {
  std::vector<NodeId> order;
  std::vector<uint8_t> state(nodes_.size(), 0);  // 0 new, 1 entered, 2 placed
  std::vector<NodeId> stack;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].op == nullptr || state[i] != 0) continue;
    stack.push_back(static_cast<NodeId>(i));
    while (!stack.empty()) {
      const auto id = static_cast<size_t>(stack.back());
      if (state[id] != 0) {
        stack.pop_back();
        if (state[id] == 1) order.push_back(static_cast<NodeId>(id));
        state[id] = 2;
        continue;
      }
      state[id] = 1;
      for (size_t k = nodes_[id].inputs.size(); k-- > 0;) {
        const ValueId input = nodes_[id].inputs[k];
        const NodeId producer = input == kNone ? kNone : value(input).producer;
        if (producer != kNone && state[static_cast<size_t>(producer)] == 0) stack.push_back(producer);
      }
    }
  }
  return order;
}

Status Graph::verify() const {
  std::vector<int64_t> uses(values_.size(), 0);
  std::vector<uint8_t> made(values_.size(), 0);
  for (size_t i = 0; i < values_.size(); ++i) made[i] = values_[i].producer == kNone;
  for (NodeId id : order()) {
    const Node& n = node(id);
    for (ValueId input : n.inputs) {
      if (input == kNone) continue;
      if (!made[static_cast<size_t>(input)])
        return Error(Code::kInternal, place(*this, id) + " reads a value that is not made before it");
      ++uses[static_cast<size_t>(input)];
    }
    auto types = infer_types(*n.op, n.attrs, types_of(*this, n.inputs));
    if (!types) return std::move(types).context("verifying " + place(*this, id)).take_error();
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      made[static_cast<size_t>(n.outputs[i])] = 1;
      if ((*types)[i] != type(n.outputs[i]))
        return Error(Code::kInternal, place(*this, id) + " makes " + to_string((*types)[i]) + ", its value says " +
                                          to_string(type(n.outputs[i])));
    }
  }
  for (size_t i = 0; i < values_.size(); ++i)
    if (uses[i] != static_cast<int64_t>(values_[i].users.size()))
      return Error(Code::kInternal, "value %" + std::to_string(i) + " has " + std::to_string(uses[i]) +
                                        " uses, its list says " + std::to_string(values_[i].users.size()));
  for (ValueId output : outputs_)
    if (!made[static_cast<size_t>(output)]) return Error(Code::kInternal, "an output of the graph is made by no node");
  return {};
}

}  // namespace plica
