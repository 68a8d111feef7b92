#include "loaders/onnx/module.h"

#include "runtime/core/result.h"

namespace plica::onnx {
namespace {

constexpr std::string_view kKinds[] = {"float", "int", "string", "floats", "ints", "strings", "tensor", "graph"};

template <class T>
Result<T> typed(const Node& node, std::string_view name, T absent, std::string_view wanted) {
  const Attribute* attribute = node.find(name);
  if (attribute == nullptr) return absent;
  if (const T* value = std::get_if<T>(&attribute->value)) return *value;
  const auto* unread = std::get_if<UnreadAttribute>(&attribute->value);
  const std::string_view found = unread ? unread->kind : kKinds[attribute->value.index()];
  std::string text("attribute '");
  text.append(name).append("' is of kind ").append(found).append(", wanted ").append(wanted);
  return Error(Code::kInvalidModel, std::move(text));
}

}  // namespace

const Attribute* Node::find(std::string_view attribute) const {
  for (const Attribute& a : attributes)
    if (a.name == attribute) return &a;
  return nullptr;
}

std::string describe(const Module& module, const Node& node) {
  const Op& op = module.op_of(node);
  std::string text("node '");
  if (!node.name.empty() || node.outputs.empty())
    text.append(node.name).append("' (");
  else
    text.append("making ").append(module.name_of(node.outputs.front())).append("' (");
  if (!op.domain.empty()) text.append(op.domain).append(".");
  return text.append(op.type).append(", opset ").append(std::to_string(node.version)).append(")");
}

Result<int64_t> int_attribute(const Node& node, std::string_view name, int64_t absent) {
  return typed<int64_t>(node, name, absent, "int");
}

Result<float> float_attribute(const Node& node, std::string_view name, float absent) {
  return typed<float>(node, name, absent, "float");
}

Result<std::string> string_attribute(const Node& node, std::string_view name, std::string_view absent) {
  return typed<std::string>(node, name, std::string(absent), "string");
}

Result<std::vector<int64_t>> ints_attribute(const Node& node, std::string_view name, std::vector<int64_t> absent) {
  return typed<std::vector<int64_t>>(node, name, std::move(absent), "ints");
}

Result<std::vector<float>> floats_attribute(const Node& node, std::string_view name, std::vector<float> absent) {
  return typed<std::vector<float>>(node, name, std::move(absent), "floats");
}

}  // namespace plica::onnx
