#include "loaders/onnx/lowering.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "loaders/onnx/element_type.h"
#include "runtime/core/shape.h"

namespace plica::onnx {

Error invalid_model(std::string what) { return Error(Code::kInvalidModel, std::move(what)); }
Error unsupported(std::string what) { return Error(Code::kUnsupported, std::move(what)); }

namespace {

// Every other operator is given tensors only.
bool takes_sequences(const Op& op) {
  constexpr std::string_view kOthers[] = {"ConcatFromSequence", "Identity",           "Loop", "Optional",
                                          "OptionalGetElement", "OptionalHasElement", "Scan"};
  return op.type.starts_with("Sequence") ||
         std::find(std::begin(kOthers), std::end(kOthers), op.type) != std::end(kOthers);
}

bool takes_random(const Op& op) {
  return op.type == "Greater" || op.type == "GreaterOrEqual" || op.type == "Less" || op.type == "LessOrEqual";
}

}  // namespace

Status Lowering::run() {
  values_.assign(module_.values.size(), kNone);
  constants_.assign(module_.constants.size(), kNone);
  PLICA_CHECK(add_inputs());
  PLICA_CHECK(lower_nodes(module_.main()));
  for (const Body::Port& port : module_.main().outputs) {
    if (sequences_.contains(port.value))
      return unsupported("output '" + port.name + "' is a sequence, wanted a tensor");
    PLICA_TRY(const Id id, resolve(port.value));
    graph_.add_output(port.name, id);
  }
  return {};
}

Status Lowering::add_inputs() {
  const std::vector<Body::Port>& ports = module_.main().inputs;
  if (signature_.inputs.size() != ports.size())
    return Error(Code::kInvalidInput, "the signature has " + std::to_string(signature_.inputs.size()) +
                                          " inputs, wanted " + std::to_string(ports.size()));
  for (size_t i = 0; i < ports.size(); ++i) {
    if (auto fits = check_shape(signature_.inputs[i].shape); !fits)
      return fits.take_error().context("reading input '" + ports[i].name + "'");
    Id id = graph_.add_input(ports[i].name, signature_.inputs[i]);
    // A bound input stays an input of the graph; what reads it sees the constant.
    if (i < signature_.values.size() && signature_.values[i])
      id = graph_.add_constant(make_constant(*signature_.values[i]), ports[i].name);
    values_[static_cast<size_t>(ports[i].value)] = id;
  }
  return {};
}

Status Lowering::lower_nodes(const Body& body) {
  for (const Node& node : body.nodes) {
    auto status = lower_node(node);
    if (!status) return status.take_error().context("lowering " + describe(module_, node));
  }
  return {};
}

Status Lowering::lower_node(const Node& node) {
  const Op& op = module_.op_of(node);
  const OpRow* row = find_row(op.domain, op.type, node.version);
  if (row == nullptr) return unsupported("operator " + op.type + " is not known at this version");
  Ids operands;
  operands.reserve(node.inputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const onnx::ValueId input = node.inputs[i];
    Id id = kNone;
    const bool is_sequence = sequences_.contains(input);
    if (is_sequence && !takes_sequences(op))
      return invalid_model("input " + std::to_string(i) + " is a sequence, wanted a tensor");
    const bool is_random = takes_random(op) && random_.contains(input);
    if (input != kNoValue && !is_sequence && !is_random) {
      PLICA_TRY(id, resolve(input));
    }
    operands.push_back(id);
  }
  for (size_t i = 0; i < row->num_needed; ++i)
    if (i >= node.inputs.size() || node.inputs[i] == kNoValue)
      return invalid_model("input " + std::to_string(i) + " is absent, but it is not optional");
  const Node* outer = std::exchange(node_, &node);
  operands_.swap(operands);
  node_name_ =
      node.name.empty() && !node.outputs.empty() ? std::string(module_.name_of(node.outputs.front())) : node.name;
  Status status = row->lower(*this);
  operands_.swap(operands);
  node_ = outer;
  return status;
}

// The graph's value for one of the module: made before, or a constant that is used for the first time.
Result<Id> Lowering::resolve(onnx::ValueId value) {
  const auto at = static_cast<size_t>(value);
  if (values_[at] != kNone) return values_[at];
  if (random_.contains(value))
    return unsupported("'" + module_.values[at].name +
                       "' are random numbers, which are not made here, wanted a comparison that holds for all of them");
  const int32_t index = module_.values[at].constant;
  if (index < 0) return not_made(value);
  Id& known = constants_[static_cast<size_t>(index)];
  if (known == kNone) {
    const Constant& constant = module_.constants[static_cast<size_t>(index)];
    if (!constant.problem.empty()) return unsupported("constant '" + constant.name + "': " + constant.problem);
    PLICA_CHECK(check_shape(constant.type.shape));
    auto shared = std::make_shared<plica::Constant>(
        plica::Constant{constant.type, constant.data, constant.owner, "w" + std::to_string(index)});
    known = graph_.add_constant(std::move(shared), constant.name);
  }
  return values_[at] = known;
}

// A value that its node has left out: of a node before, since the module's are in order.
Error Lowering::not_made(onnx::ValueId value) const {
  for (const Body& body : module_.bodies)
    for (const Node& node : body.nodes) {
      const auto output = std::find(node.outputs.begin(), node.outputs.end(), value);
      if (output == node.outputs.end()) continue;
      const std::string place = "output " + std::to_string(output - node.outputs.begin());
      return invalid_model("'" + std::string(module_.name_of(value)) + "' is read, wanted an output that is made; " +
                           describe(module_, node) + " gives no " + place);
    }
  return Error(Code::kInternal, "value '" + std::string(module_.name_of(value)) + "' is read before it is made");
}

Id Lowering::in(size_t i) const { return i < operands_.size() ? operands_[i] : kNone; }

Ids Lowering::all_inputs() const { return operands_; }

const Ids* Lowering::sequence(size_t i) const {
  if (i >= node_->inputs.size()) return nullptr;
  const auto found = sequences_.find(node_->inputs[i]);
  return found == sequences_.end() ? nullptr : &found->second;
}

const RandomNumbers* Lowering::random(size_t i) const {
  if (i >= node_->inputs.size()) return nullptr;
  const auto found = random_.find(node_->inputs[i]);
  return found == random_.end() ? nullptr : &found->second;
}

Result<ConstantPtr> Lowering::known(size_t i) {
  const Id id = in(i);
  if (id == kNone) return invalid_model("input " + std::to_string(i) + " is absent");
  return known_value(id);
}

Result<ConstantPtr> Lowering::known_value(Id id) {
  if (!is_known(id)) return needs_error(id);
  return value_of(id);
}

Error Lowering::needs_error(Id id) {
  needs_.inputs = inputs_behind(id);
  needs_.why = describe(module_, *node_) + ": what it gives hangs on the value of input ";
  for (size_t i = 0; i < needs_.inputs.size(); ++i)
    needs_.why.append(i ? ", '" : "'")
        .append(module_.main().inputs[static_cast<size_t>(needs_.inputs[i])].name)
        .append("'");
  return Error(Code::kInvalidInput, needs_.why);
}

Result<std::vector<int64_t>> Lowering::known_ints(size_t i) {
  PLICA_TRY(const ConstantPtr value, known(i));
  return to_ints(*value);
}

Result<std::vector<double>> Lowering::known_doubles(size_t i) {
  PLICA_TRY(const ConstantPtr value, known(i));
  return to_doubles(*value);
}

Result<std::vector<int64_t>> Lowering::axes_of(size_t operand, int64_t rank) {
  std::vector<int64_t> axes;
  if (has(operand)) {
    PLICA_TRY(axes, known_ints(operand));
  } else {
    PLICA_TRY(axes, ints_attribute(*node_, "axes"));
  }
  for (int64_t& axis : axes) {
    PLICA_TRY(axis, normalise_axis(axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  if (const auto twice = std::adjacent_find(axes.begin(), axes.end()); twice != axes.end())
    return invalid_model("axis " + std::to_string(*twice) + " is named twice, wanted each axis once");
  return axes;
}

Result<int64_t> Lowering::axis(std::string_view attribute, int64_t absent, int64_t rank) {
  PLICA_TRY(const int64_t found, attr(attribute, absent));
  return normalise_axis(found, rank);
}

Result<bool> Lowering::flag(std::string_view name, bool absent) const {
  PLICA_TRY(const int64_t found, attr(name, absent));
  return found != 0;
}

Result<double> Lowering::real(std::string_view name, double absent) const {
  if (node_->find(name) == nullptr) return absent;
  PLICA_TRY(const float found, float_attribute(*node_, name, 0));
  // The decimal number that the exporter meant: 1e-05f is 1e-05, not 9.99999974e-06.
  char text[32];
  double meant = static_cast<double>(found);
  std::from_chars(text, std::to_chars(text, text + sizeof text, found).ptr, meant);
  return meant;
}

Result<DType> Lowering::dtype_attr(std::string_view name, DType absent) const {
  if (node_->find(name) == nullptr) return absent;
  PLICA_TRY(const int64_t number, attr(name, 0));
  if (const auto dtype = dtype_of(number)) return *dtype;
  return unsupported("attribute '" + std::string(name) + "' is " + name_of_element_type(number) +
                     ", wanted a number type of 8 to 64 bits or bool");
}

Status Lowering::give(size_t o, Result<Id> value) {
  if (!value) return value.take_error();
  if (!wants(o)) return {};
  if (*value == kNone) return invalid_model("output " + std::to_string(o) + " would be an operand that is absent");
  const onnx::ValueId output = node_->outputs[o];
  values_[static_cast<size_t>(output)] = *value;
  sequences_.erase(output);
  if (graph_.value(*value).name.empty()) graph_.set_name(*value, module_.values[static_cast<size_t>(output)].name);
  return {};
}

Status Lowering::give_sequence(size_t o, Ids values) {
  if (wants(o)) sequences_[node_->outputs[o]] = std::move(values);
  return {};
}

Status Lowering::give_random(RandomNumbers numbers) {
  if (wants(0)) random_[node_->outputs[0]] = std::move(numbers);
  return {};
}

Operand Lowering::operand(size_t i) const {
  if (const Ids* elements = sequence(i)) return {kNone, *elements};
  return {in(i), {}};
}

Status Lowering::give(size_t o, Operand value) {
  if (value.elements) return give_sequence(o, *std::move(value.elements));
  return give(o, Result<Id>(value.value));
}

void Lowering::bind(onnx::ValueId value, const Operand& operand) {
  values_[static_cast<size_t>(value)] = operand.value;
  if (operand.elements)
    sequences_[value] = *operand.elements;
  else
    sequences_.erase(value);
}

Result<std::vector<Operand>> Lowering::lower_body(int32_t index, const std::vector<Operand>& inputs) {
  const Body& body = module_.bodies[static_cast<size_t>(index)];
  if (inputs.size() != body.inputs.size())
    return invalid_model("body '" + body.name + "' has " + std::to_string(body.inputs.size()) + " inputs, wanted " +
                         std::to_string(inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) bind(body.inputs[i].value, inputs[i]);
  PLICA_CHECK(lower_nodes(body));
  std::vector<Operand> outputs;
  for (const Body::Port& port : body.outputs) {
    Operand& output = outputs.emplace_back();
    if (const auto found = sequences_.find(port.value); found != sequences_.end()) {
      output.elements = found->second;
    } else {
      PLICA_TRY(output.value, resolve(port.value));
    }
  }
  return outputs;
}

}  // namespace plica::onnx
