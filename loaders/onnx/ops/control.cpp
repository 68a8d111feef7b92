#include <cstdint>
#include <limits>

#include "loaders/onnx/ops/tables.h"
#include "runtime/core/shape.h"

// Bodies are lowered where they stand: the branch that is taken, or the body of a loop as often as it runs. Conditions and
// counts have to be known.
namespace plica::onnx {
namespace {

constexpr int64_t kMaxIterations = 1 << 14;

Result<int32_t> body_of(Lowering& n, std::string_view name) {
  const Attribute* attribute = n.node().find(name);
  const auto* graph = attribute ? std::get_if<GraphAttribute>(&attribute->value) : nullptr;
  if (graph == nullptr) return invalid_model("attribute '" + std::string(name) + "' is no graph");
  return graph->body;
}

Status if_op(Lowering& n) {
  PLICA_TRY(const auto condition, n.known_ints(0));
  if (condition.size() != 1)
    return invalid_model("the condition has " + std::to_string(condition.size()) + " elements, wanted 1");
  PLICA_TRY(const int32_t body, body_of(n, condition[0] != 0 ? "then_branch" : "else_branch"));
  PLICA_TRY(std::vector<Operand> outputs, n.lower_body(body, {}));
  if (outputs.size() != n.node().outputs.size())
    return invalid_model("the branch has " + std::to_string(outputs.size()) + " outputs, the node " +
                         std::to_string(n.node().outputs.size()));
  for (size_t i = 0; i < outputs.size(); ++i) PLICA_CHECK(n.give(i, std::move(outputs[i])));
  n.note("if");
  return {};
}

// What the iterations leave along a new axis: the slices side by side, or none in the shape that the body declares.
Result<Id> stacked(Lowering& n, const Ids& slices, int64_t axis, const Body::Port& port) {
  if (slices.empty()) {
    if (!port.type.ranked || !port.type.known_dtype)
      return unsupported("a loop of no iterations whose output '" + port.name + "' has no fixed shape");
    Shape shape;
    for (const Dim& dim : port.type.dims) shape.push_back(dim.size);
    for (const int64_t size : shape)
      if (size < 0) return unsupported("a loop of no iterations whose output '" + port.name + "' has no fixed shape");
    shape.insert(shape.begin() + axis, 0);
    return n.full(0, port.type.dtype, std::move(shape));
  }
  Ids rows;
  for (const Id slice : slices) {
    Shape shape = n.shape(slice);
    PLICA_TRY(const int64_t at, normalise_axis(axis, n.rank(slice) + 1));
    shape.insert(shape.begin() + at, 1);
    PLICA_TRY(rows.emplace_back(), n.reshape(slice, std::move(shape)));
  }
  PLICA_TRY(const int64_t at, normalise_axis(axis, n.rank(rows[0])));
  return n.concat(std::move(rows), at);
}

Result<Id> tensor_of(const Operand& operand) {
  if (operand.value != kNone) return operand.value;
  return invalid_model("the body gives a sequence where a tensor is wanted");
}

Result<bool> truth(Lowering& n, Id condition) {
  PLICA_TRY(const ConstantPtr value, n.known_value(condition));
  const auto numbers = to_ints(*value);
  if (numbers.size() != 1)
    return invalid_model("the condition has " + std::to_string(numbers.size()) + " elements, wanted 1");
  return numbers[0] != 0;
}

// Body: (iteration, condition, carried...) -> (condition, carried..., slices...).
Status loop(Lowering& n) {
  PLICA_TRY(const int32_t index, body_of(n, "body"));
  const Body& body = n.module().bodies[static_cast<size_t>(index)];
  int64_t limit = std::numeric_limits<int64_t>::max();
  if (n.has(0)) {
    PLICA_TRY(const auto count, n.known_ints(0));
    if (count.size() != 1)
      return invalid_model("the trip count has " + std::to_string(count.size()) + " elements, wanted 1");
    limit = count[0];
  }
  bool goes_on = true;
  if (n.has(1)) {
    PLICA_TRY(goes_on, truth(n, n.in(1)));
  }
  std::vector<Operand> carried;
  for (size_t i = 2; i < n.num_inputs(); ++i) carried.push_back(n.operand(i));
  if (body.outputs.size() < carried.size() + 1 || body.inputs.size() != carried.size() + 2)
    return invalid_model("the body has " + std::to_string(body.inputs.size()) + " inputs and " +
                         std::to_string(body.outputs.size()) + " outputs for " + std::to_string(carried.size()) +
                         " carried values");
  std::vector<Ids> slices(body.outputs.size() - carried.size() - 1);
  for (int64_t i = 0; goes_on && i < limit; ++i) {
    if (i == kMaxIterations)
      return unsupported("a loop of more than " + std::to_string(kMaxIterations) + " iterations");
    PLICA_TRY(const Id iteration, n.scalar(static_cast<double>(i), DType::kI64));
    PLICA_TRY(const Id condition, n.scalar(1, DType::kBool));
    std::vector<Operand> inputs{{iteration, {}}, {condition, {}}};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    PLICA_TRY(std::vector<Operand> outputs, n.lower_body(index, inputs));
    PLICA_TRY(const Id next, tensor_of(outputs[0]));
    PLICA_TRY(goes_on, truth(n, next));
    for (size_t k = 0; k < carried.size(); ++k) carried[k] = std::move(outputs[k + 1]);
    for (size_t k = 0; k < slices.size(); ++k) {
      PLICA_TRY(slices[k].emplace_back(), tensor_of(outputs[carried.size() + 1 + k]));
    }
  }
  for (size_t k = 0; k < slices.size(); ++k)
    PLICA_CHECK(n.give(carried.size() + k, stacked(n, slices[k], 0, body.outputs[carried.size() + 1 + k])));
  for (size_t k = 0; k < carried.size(); ++k) PLICA_CHECK(n.give(k, std::move(carried[k])));
  return {};
}

// The i-th of the slices of x along `axis`, without that axis.
Result<Id> row(Lowering& n, Id x, int64_t axis, int64_t i) {
  Shape shape = n.shape(x);
  shape.erase(shape.begin() + axis);
  return n.reshape(n.slice(x, axis, i, 1), std::move(shape));
}

struct ScanPlan {
  size_t num_states = 0, num_slices_in = 0, num_slices_out = 0;
  std::vector<int64_t> axes_in, axes_out, backwards_in, backwards_out;
  int64_t length = 0;
};

Result<std::vector<int64_t>> one_each(Lowering& n, std::string_view name, size_t count) {
  PLICA_TRY(auto found, ints_attribute(n.node(), name, std::vector<int64_t>(count, 0)));
  if (found.size() == count) return found;
  return invalid_model("attribute '" + std::string(name) + "' has " + std::to_string(found.size()) +
                       " entries, wanted " + std::to_string(count));
}

Result<ScanPlan> plan_scan(Lowering& n, const Body& body) {
  ScanPlan plan;
  PLICA_TRY(const int64_t scanned, n.attr("num_scan_inputs", 0));
  if (scanned < 1 || static_cast<size_t>(scanned) > n.num_inputs() || body.inputs.size() != n.num_inputs())
    return invalid_model("num_scan_inputs is " + std::to_string(scanned) + ", the body has " +
                         std::to_string(body.inputs.size()) + " inputs, the node " + std::to_string(n.num_inputs()));
  plan.num_slices_in = static_cast<size_t>(scanned);
  plan.num_states = n.num_inputs() - plan.num_slices_in;
  if (body.outputs.size() < plan.num_states) return invalid_model("the body has fewer outputs than states");
  plan.num_slices_out = body.outputs.size() - plan.num_states;
  PLICA_TRY(plan.axes_in, one_each(n, "scan_input_axes", plan.num_slices_in));
  PLICA_TRY(plan.axes_out, one_each(n, "scan_output_axes", plan.num_slices_out));
  PLICA_TRY(plan.backwards_in, one_each(n, "scan_input_directions", plan.num_slices_in));
  PLICA_TRY(plan.backwards_out, one_each(n, "scan_output_directions", plan.num_slices_out));
  for (size_t i = 0; i < plan.num_slices_in; ++i) {
    PLICA_TRY(const Id x, tensor_of(n.operand(plan.num_states + i)));
    PLICA_TRY(plan.axes_in[i], normalise_axis(plan.axes_in[i], n.rank(x)));
    const int64_t length = n.size(x, plan.axes_in[i]);
    if (i > 0 && length != plan.length)
      return invalid_model("scanned inputs have " + std::to_string(plan.length) + " and " + std::to_string(length) +
                           " slices");
    plan.length = length;
  }
  if (plan.length > kMaxIterations)
    return unsupported("a scan of more than " + std::to_string(kMaxIterations) + " slices");
  return plan;
}

// Body: (states..., slices...) -> (states..., slices...).
Status scan(Lowering& n) {
  PLICA_TRY(const int32_t index, body_of(n, "body"));
  const Body& body = n.module().bodies[static_cast<size_t>(index)];
  PLICA_TRY(const ScanPlan plan, plan_scan(n, body));
  std::vector<Operand> states;
  for (size_t i = 0; i < plan.num_states; ++i) states.push_back(n.operand(i));
  std::vector<Ids> slices(plan.num_slices_out);
  for (int64_t step = 0; step < plan.length; ++step) {
    std::vector<Operand> inputs = states;
    for (size_t i = 0; i < plan.num_slices_in; ++i) {
      const int64_t at = plan.backwards_in[i] != 0 ? plan.length - 1 - step : step;
      PLICA_TRY(const Id slice, row(n, n.in(plan.num_states + i), plan.axes_in[i], at));
      inputs.push_back({slice, {}});
    }
    PLICA_TRY(std::vector<Operand> outputs, n.lower_body(index, inputs));
    for (size_t i = 0; i < plan.num_states; ++i) states[i] = std::move(outputs[i]);
    for (size_t i = 0; i < slices.size(); ++i) {
      PLICA_TRY(const Id slice, tensor_of(outputs[plan.num_states + i]));
      slices[i].insert(plan.backwards_out[i] != 0 ? slices[i].begin() : slices[i].end(), slice);
    }
  }
  for (size_t i = 0; i < slices.size(); ++i)
    PLICA_CHECK(
        n.give(plan.num_states + i, stacked(n, slices[i], plan.axes_out[i], body.outputs[plan.num_states + i])));
  for (size_t i = 0; i < plan.num_states; ++i) PLICA_CHECK(n.give(i, std::move(states[i])));
  return {};
}

constexpr OpRow kRows[] = {
    {"If", 1, 1, if_op},
    {"Loop", 1, 0, loop},
    {"Scan", 9, 1, scan},
};

}  // namespace

std::span<const OpRow> control_rows() { return kRows; }

}  // namespace plica::onnx
