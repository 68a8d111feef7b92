#include "loaders/onnx/graph_reader.h"

#include "loaders/onnx/attribute_reader.h"
#include "loaders/onnx/proto/onnx-ml.pb.h"
#include "loaders/onnx/value_type.h"
#include "runtime/core/result.h"

namespace plica::onnx {
namespace {

constexpr int kMaxDepth = 200;  // of graphs and function calls inside one another
constexpr size_t kBudget = size_t{1} << 25;
constexpr size_t kNodeCost = 64;

Error invalid(std::string text) { return Error(Code::kInvalidModel, std::move(text)); }

std::string_view without_alias(std::string_view domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

std::string function_key(std::string_view domain, std::string_view name, std::string_view overload) {
  std::string key(without_alias(domain));
  return key.append(1, '\0').append(name).append(1, '\0').append(overload);
}

std::string describe(const proto::NodeProto& node) {
  std::string text("node '");
  text.append(!node.name().empty() || node.output_size() == 0 ? node.name() : "making " + node.output(0));
  return text.append("' (").append(node.op_type()).append(")");
}

template <class Nodes>
const proto::NodeProto* maker_of(const std::string& name, const Nodes& nodes) {
  for (const auto& node : nodes)
    for (const auto& output : node.output())
      if (output == name) return &node;
  return nullptr;
}

}  // namespace

// The names that are visible where nodes are read.
struct GraphReader::Frame {
  const Frame* outer = nullptr;   // of the graph around this one; a function sees none
  const Frame* caller = nullptr;  // of the node that this function call or graph belongs to
  const proto::FunctionProto* function = nullptr;
  const Opsets* opsets = nullptr;
  const AttributeBindings* attributes = nullptr;  // of the function call
  std::string prefix;                             // of node names
  int depth = 0;
  std::unordered_map<std::string_view, ValueId> values;

  const ValueId* find(std::string_view name) const {
    for (const Frame* frame = this; frame != nullptr; frame = frame->outer)
      if (const auto at = frame->values.find(name); at != frame->values.end()) return &at->second;
    return nullptr;
  }
};

GraphReader::GraphReader(const proto::ModelProto& model, Module& module)
    : model_(model), module_(module), budget_(kBudget) {}
GraphReader::~GraphReader() = default;

Status GraphReader::read() {
  if (!model_.has_graph()) return invalid("the file holds no graph");
  for (const auto& opset : model_.opset_import()) {
    const auto [known, is_new] = opsets_.emplace(without_alias(opset.domain()), opset.version());
    if (!is_new && known->second != opset.version())
      return invalid("the file imports operator set '" + opset.domain() + "' twice, found versions " +
                     std::to_string(known->second) + " and " + std::to_string(opset.version()) + ", wanted one");
  }
  if (opsets_.empty() && model_.ir_version() < 3) opsets_[""] = 1;
  if (opsets_.empty()) return invalid("the file imports no operator set");
  for (const auto& function : model_.functions())
    if (!functions_.emplace(function_key(function.domain(), function.name(), function.overload()), &function).second)
      return invalid("function '" + function.domain() + "." + function.name() + "' is defined twice");
  PLICA_CHECK(read_graph(model_.graph(), nullptr));
  return {};
}

Result<int32_t> GraphReader::read_graph(const proto::GraphProto& graph, const Frame* outer) {
  Frame frame;
  frame.outer = frame.caller = outer;
  frame.opsets = outer ? outer->opsets : &opsets_;
  if (outer) {
    frame.attributes = outer->attributes;
    frame.prefix = outer->prefix;
    frame.depth = outer->depth + 1;
  }
  if (frame.depth > kMaxDepth) return invalid("graphs nest deeper than " + std::to_string(kMaxDepth));
  const auto index = static_cast<int32_t>(module_.bodies.size());
  module_.bodies.emplace_back();
  Body body;
  body.name = graph.name();
  PLICA_CHECK(read_initializers(graph, frame));
  PLICA_CHECK(read_ports(graph, frame, body));
  PLICA_CHECK(read_nodes(graph.node(), frame, body));
  for (const auto& output : graph.output()) {
    const ValueId* value = frame.find(output.name());
    if (value == nullptr || *value == kNoValue)
      return invalid("graph output '" + output.name() + "' is made by no node");
    body.outputs.push_back({*value, output.name(), read_value_type(output.type())});
  }
  module_.bodies[static_cast<size_t>(index)] = std::move(body);
  return index;
}

Status GraphReader::read_initializers(const proto::GraphProto& graph, Frame& frame) {
  PLICA_CHECK(spend(static_cast<size_t>(graph.initializer_size())));
  for (const auto& tensor : graph.initializer())
    PLICA_CHECK(define(tensor.name(), frame, add_constant(tensor.name(), {.tensor = &tensor})));
  for (const auto& tensor : graph.sparse_initializer())
    PLICA_CHECK(define(tensor.values().name(), frame, add_constant(tensor.values().name(), {.sparse = &tensor})));
  return {};
}

Status GraphReader::read_ports(const proto::GraphProto& graph, Frame& frame, Body& body) {
  for (const auto& input : graph.input()) {
    // Before IR version 4 each initializer is also listed as an input; later it is that input's default value.
    if (const auto at = frame.values.find(input.name());
        at != frame.values.end() && module_.values[static_cast<size_t>(at->second)].constant >= 0)
      continue;
    PLICA_TRY(const ValueId value, define(input.name(), frame));
    body.inputs.push_back({value, input.name(), read_value_type(input.type())});
  }
  return {};
}

template <class Nodes>
Status GraphReader::read_nodes(const Nodes& nodes, Frame& frame, Body& body) {
  if (body.nodes.empty()) body.nodes.reserve(static_cast<size_t>(nodes.size()));
  for (const auto& node : nodes) {
    auto status = read_node(node, frame, body);
    if (status) continue;
    for (const auto& input : node.input())
      if (!input.empty() && frame.find(input) == nullptr)
        if (const auto* maker = maker_of(input, nodes))
          return invalid("value '" + input + "' is used before " + describe(*maker) + " makes it")
              .context("reading " + describe(node));
    return status.take_error().context("reading " + describe(node));
  }
  return {};
}

Status GraphReader::read_node(const proto::NodeProto& node, Frame& frame, Body& body) {
  PLICA_CHECK(spend(kNodeCost + static_cast<size_t>(node.input_size()) + static_cast<size_t>(node.output_size())));
  if (const auto* function = function_of(node)) return inline_function(*function, node, frame, body);
  const std::string_view domain = without_alias(node.domain());
  if (domain.empty() && node.op_type() == "Constant") return read_constant_node(node, frame);

  Node out;
  out.op = op_id(domain, node.op_type());
  const auto version = frame.opsets->find(domain);
  if (version == frame.opsets->end() && domain.empty()) return invalid("the default operator set is not imported");
  out.version = version == frame.opsets->end() ? 1 : version->second;
  out.name = node.name().empty() ? std::string() : frame.prefix + node.name();
  for (const auto& name : node.input()) {
    const ValueId* value = frame.find(name);
    if (value == nullptr && !name.empty()) return invalid("value '" + name + "' is made by no node");
    out.inputs.push_back(name.empty() ? kNoValue : *value);
  }
  while (!out.inputs.empty() && out.inputs.back() == kNoValue) out.inputs.pop_back();
  for (const auto& attribute : node.attribute()) {
    if (out.find(attribute.name())) return invalid("attribute '" + attribute.name() + "' stands there twice");
    PLICA_TRY(const BoundAttribute bound, resolve(attribute, frame.attributes));
    if (bound.value == nullptr) continue;
    PLICA_TRY(Attribute read,
              read_attribute(*bound.value, bound.frame ? *static_cast<const Frame*>(bound.frame) : frame));
    read.name = attribute.name();
    out.attributes.push_back(std::move(read));
  }
  for (const auto& name : node.output()) {
    if (name.empty()) {
      out.outputs.push_back(kNoValue);
      continue;
    }
    PLICA_TRY(const ValueId value, define(name, frame));
    out.outputs.push_back(value);
  }
  body.nodes.push_back(std::move(out));
  return {};
}

Status GraphReader::read_constant_node(const proto::NodeProto& node, Frame& frame) {
  if (node.output_size() != 1 || node.output(0).empty())
    return invalid("it has " + std::to_string(node.output_size()) + " outputs, wanted 1");
  for (const auto& attribute : node.attribute()) {
    PLICA_TRY(const BoundAttribute bound, resolve(attribute, frame.attributes));
    if (bound.value == nullptr) continue;
    ConstantSource source;
    if (bound.value->has_t()) {
      source.tensor = &bound.value->t();
    } else if (bound.value->has_sparse_tensor()) {
      source.sparse = &bound.value->sparse_tensor();
    } else {
      auto& made = made_tensors_[bound.value];
      if (made == nullptr) {
        PLICA_TRY(made, make_tensor(*bound.value, attribute.name()));
      }
      source.tensor = made.get();
    }
    PLICA_CHECK(define(node.output(0), frame, add_constant(node.output(0), source)));
    return {};
  }
  return invalid("it has no value");
}

Status GraphReader::inline_function(const proto::FunctionProto& function, const proto::NodeProto& call, Frame& frame,
                                    Body& body) {
  for (const Frame* f = &frame; f != nullptr; f = f->caller)
    if (f->function == &function) return invalid("function '" + function.name() + "' calls itself");
  if (frame.depth >= kMaxDepth) return invalid("functions nest deeper than " + std::to_string(kMaxDepth));
  if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
    return invalid("it has " + std::to_string(call.input_size()) + " inputs and " + std::to_string(call.output_size()) +
                   " outputs, function '" + function.name() + "' has " + std::to_string(function.input_size()) +
                   " and " + std::to_string(function.output_size()));
  Frame inner;
  inner.caller = &frame;
  inner.function = &function;
  inner.depth = frame.depth + 1;
  inner.prefix = frame.prefix + (call.name().empty() ? call.op_type() : call.name()) + "/";
  Opsets opsets = opsets_;
  for (const auto& opset : function.opset_import()) opsets[without_alias(opset.domain())] = opset.version();
  inner.opsets = &opsets;
  PLICA_TRY(const AttributeBindings bindings, bind_attributes(function, call, frame.attributes, &frame));
  inner.attributes = &bindings;
  for (int i = 0; i < function.input_size(); ++i) {
    ValueId value = kNoValue;
    if (i < call.input_size() && !call.input(i).empty()) {
      const ValueId* outside = frame.find(call.input(i));
      if (outside == nullptr) return invalid("value '" + call.input(i) + "' is made by no node");
      value = *outside;
    }
    if (!inner.values.emplace(function.input(i), value).second)
      return invalid("input '" + function.input(i) + "' of function '" + function.name() + "' is defined twice");
  }
  auto status = read_nodes(function.node(), inner, body);
  if (!status) return status.take_error().context("inlining function '" + function.name() + "'");
  for (int i = 0; i < call.output_size(); ++i) {
    if (call.output(i).empty()) continue;
    const auto value = inner.values.find(function.output(i));
    if (value == inner.values.end())
      return invalid("output '" + function.output(i) + "' of function '" + function.name() + "' is made by no node");
    if (!frame.values.emplace(call.output(i), value->second).second)
      return invalid("value '" + call.output(i) + "' is made twice");
  }
  return {};
}

Result<Attribute> GraphReader::read_attribute(const proto::AttributeProto& attribute, const Frame& frame) {
  Attribute out;
  switch (type_of(attribute)) {
    case proto::AttributeProto::TENSOR: {
      if (!attribute.has_t()) break;
      out.value = TensorAttribute{add_constant(attribute.name(), {.tensor = &attribute.t()})};
      return out;
    }
    case proto::AttributeProto::GRAPH: {
      if (!attribute.has_g()) break;
      auto body = read_graph(attribute.g(), &frame);
      if (!body)
        return body.take_error().context("reading graph '" + attribute.g().name() + "' of attribute '" +
                                         attribute.name() + "'");
      out.value = GraphAttribute{*body};
      return out;
    }
    default:
      PLICA_TRY(out.value, plain_value(attribute));
      PLICA_CHECK(spend(attribute.ByteSizeLong()));
      return out;
  }
  return invalid("attribute '" + attribute.name() + "' has no value");
}

Result<ValueId> GraphReader::define(const std::string& name, Frame& frame, int32_t constant) {
  if (name.empty()) return invalid("a value without a name");
  const auto id = static_cast<ValueId>(module_.values.size());
  if (!frame.values.emplace(name, id).second) return invalid("value '" + name + "' is made twice");
  module_.values.push_back({name, constant});
  return id;
}

int32_t GraphReader::add_constant(const std::string& name, ConstantSource source) {
  const void* key = source.tensor ? static_cast<const void*>(source.tensor) : source.sparse;
  const auto [at, is_new] = constant_ids_.emplace(key, static_cast<int32_t>(module_.constants.size()));
  if (is_new) {
    module_.constants.emplace_back().name = name;
    sources_.push_back(source);
  }
  return at->second;
}

int32_t GraphReader::op_id(std::string_view domain, const std::string& type) {
  std::string key(domain);
  const auto [at, is_new] = op_ids_.emplace(key.append(1, '\0').append(type), static_cast<int32_t>(module_.ops.size()));
  if (is_new) module_.ops.push_back({std::string(domain), type});
  return at->second;
}

const proto::FunctionProto* GraphReader::function_of(const proto::NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  const auto at = functions_.find(function_key(node.domain(), node.op_type(), node.overload()));
  return at == functions_.end() ? nullptr : at->second;
}

Status GraphReader::spend(size_t amount) {
  if (amount > budget_)
    return invalid("the graph is too large: its functions expand beyond " + std::to_string(kBudget / kNodeCost) +
                   " nodes");
  budget_ -= amount;
  return {};
}

}  // namespace plica::onnx
