#include "loaders/onnx/lower.h"

#include <map>

#include "loaders/onnx/lowering.h"
#include "loaders/onnx/ops/tables.h"

namespace plica::onnx {
namespace {

constexpr size_t kNamesShown = 3;  // of the nodes of one operator that is not supported

std::string shown_name(const Module& module, const Node& node) {
  return !node.name.empty() || node.outputs.empty() ? node.name : std::string(module.name_of(node.outputs.front()));
}

Port port_of(const Body::Port& from) {
  Port port;
  port.name = from.name;
  port.dtype = from.type.dtype;
  port.has_rank = from.type.ranked;
  if (!from.type.ranked) return port;
  for (const Dim& dim : from.type.dims) {
    port.shape.push_back(dim.size);
    port.symbols.push_back(dim.name);
  }
  return port;
}

// A tensor of numbers, or of a type that the file does not declare.
bool is_numeric(const ValueType& type) {
  return type.kind.empty() ||
         (type.kind == "tensor" && (type.known_dtype || type.dtype_name.empty() || type.dtype_name == "undefined"));
}

Status check_ports(const std::vector<Body::Port>& ports, const std::string& role) {
  for (const Body::Port& port : ports)
    if (!is_numeric(port.type))
      return unsupported(role + " '" + port.name + "' is a " + std::string(port.type.kind) +
                         (port.type.dtype_name.empty() ? "" : " of " + port.type.dtype_name) +
                         ", wanted a tensor of numbers");
  return {};
}

}  // namespace

Status check_operators(const Module& module) {
  PLICA_CHECK(check_ports(module.main().inputs, "input"));
  PLICA_CHECK(check_ports(module.main().outputs, "output"));
  std::map<std::string, std::vector<std::string>> missing;  // by operator: the names of its nodes
  for (const Body& body : module.bodies)
    for (const Node& node : body.nodes) {
      const Op& op = module.op_of(node);
      if (find_row(op.domain, op.type, node.version) != nullptr) continue;
      missing[(op.domain.empty() ? "" : op.domain + ".") + op.type + " (opset " + std::to_string(node.version) + ")"]
          .push_back(shown_name(module, node));
    }
  if (missing.empty()) return {};
  std::string text = "the model has operators that are not supported:";
  for (const auto& [op, names] : missing) {
    text.append("\n  ").append(op).append(": node ");
    for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
      text.append(i ? ", '" : "'").append(names[i]).append("'");
    if (names.size() > kNamesShown)
      text.append(" and ").append(std::to_string(names.size() - kNamesShown)).append(" more");
  }
  return unsupported(std::move(text));
}

Result<std::variant<Graph, NeedsValues>> lower(const Module& module, const Signature& signature) {
  Lowering lowering(module, signature);
  auto status = lowering.run();
  if (status) return std::variant<Graph, NeedsValues>(lowering.take_graph());
  if (!lowering.needs().inputs.empty()) return std::variant<Graph, NeedsValues>(lowering.needs());
  return status.take_error();
}

Source make_source(std::shared_ptr<const Module> module) {
  Source source;
  for (const Body::Port& port : module->main().inputs) source.inputs.push_back(port_of(port));
  for (const Body::Port& port : module->main().outputs) source.outputs.push_back(port_of(port));
  source.specialise = [module](const Signature& signature) { return lower(*module, signature); };
  return source;
}

}  // namespace plica::onnx
