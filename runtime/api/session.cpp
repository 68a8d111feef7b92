#include "plica/session.h"

#include <cstring>

#include "ops/copy.h"
#include "runtime/api/guard.h"
#include "runtime/api/session_state.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

bool is_readable_in_place(const TensorView& view) {
  return is_dense(view.type) && reinterpret_cast<uintptr_t>(view.data) % size_of(view.type.dtype) == 0;
}

bool overlap(const TensorView& a, const TensorView& b) {
  const auto *first = static_cast<const std::byte*>(a.data), *second = static_cast<const std::byte*>(b.data);
  const size_t first_bytes = num_bytes(a.type), second_bytes = num_bytes(b.type);
  return first_bytes > 0 && second_bytes > 0 && first < second + second_bytes && second < first + first_bytes;
}

}  // namespace

Session::State::State(std::shared_ptr<Model::State> model_state, std::unique_ptr<PlanRunner> plan_runner)
    : model(std::move(model_state)),
      runner(std::move(plan_runner)),
      inputs_(model->source.inputs.size()),
      dense_inputs_(model->source.inputs.size()),
      host_inputs_(model->source.inputs.size()),
      bound_outputs_(model->source.outputs.size()) {}

Status Session::State::bind(size_t index, const TensorView& view) {
  if (index >= inputs_.size())
    return Error(Code::kInvalidInput,
                 "input " + std::to_string(index) + ", wanted less than " + std::to_string(inputs_.size()));
  PLICA_CHECK(model->check_input(index, view.type));
  if (view.data == nullptr && num_elements(view.type.shape) > 0)
    return Error(Code::kInvalidInput, "input '" + model->source.inputs[index].name + "': its data is null");
  Input& input = inputs_[index];
  input.view = view;
  input.is_bound = true;
  TensorView& dense = dense_inputs_[index];
  dense.type.dtype = view.type.dtype;
  dense.type.shape = view.type.shape;
  dense.data = view.data;
  input.is_on_device = model->is_on_device(view.data);
  host_inputs_[index].type = dense.type;
  host_inputs_[index].data = input.is_on_device ? nullptr : dense.data;
  if (is_readable_in_place(view)) return {};
  if (input.is_on_device)
    return Error(Code::kInvalidInput, "input '" + model->source.inputs[index].name +
                                          "': found memory of the device with gaps or askew, wanted it dense and "
                                          "aligned to its elements");
  if (input.staged.type() != dense.type) {
    PLICA_TRY(input.staged, Tensor::zeros(view.type.dtype, view.type.shape));
  }
  host_inputs_[index].data = dense.data = input.staged.data();
  return {};
}

Status Session::State::bind_output(size_t index, const TensorView& view) {
  if (index >= bound_outputs_.size())
    return Error(Code::kInvalidInput,
                 "output " + std::to_string(index) + ", wanted less than " + std::to_string(bound_outputs_.size()));
  if (view.data != nullptr && !is_readable_in_place(view))
    return Error(Code::kInvalidInput,
                 "output '" + model->source.outputs[index].name +
                     "': found memory with gaps or askew, wanted it dense and aligned to its elements");
  bound_outputs_[index] = view;
  return {};
}

void Session::State::unbind() {
  for (Input& input : inputs_) input.is_bound = false;
  for (TensorView& output : bound_outputs_) output.data = nullptr;
}

Status Session::State::check_output(size_t index) const {
  const TensorView& bound = bound_outputs_[index];
  const TensorType& wanted = planned->plan->outputs[index];
  const std::string& name = planned->plan->output_names[index];
  if (bound.type.dtype != wanted.dtype || bound.type.shape != wanted.shape)
    return Error(Code::kInvalidInput, "output '" + name + "': bound memory is " + to_string(bound.type) +
                                          ", the run makes " + to_string(wanted));
  const auto shares = [&](const std::string& what, const std::string& other) {
    return Error(Code::kInvalidInput, "output '" + name + "': bound memory overlaps that of " + what + " '" + other +
                                          "', wanted memory that no input and no other output has a byte of");
  };
  for (size_t i = 0; i < dense_inputs_.size(); ++i)
    if (overlap(bound, dense_inputs_[i])) return shares("input", model->source.inputs[i].name);
  for (size_t i = 0; i < bound_outputs_.size(); ++i)
    if (i != index && bound_outputs_[i].data != nullptr && overlap(bound, bound_outputs_[i]))
      return shares("output", planned->plan->output_names[i]);
  return {};
}

void Session::State::stage(Input& input) const {
  const TensorView out = input.staged.view();
  KernelArgs args;
  args.in = {&input.view, 1};
  args.out = {&out, 1};
  const ops::Copy attrs;
  kernels(copy_op, Device::kCpu).back().run(&attrs, args);
}

bool Session::State::needs_value(size_t index) const {
  return inputs_[index].is_on_device && model->plans.reads_value(index);
}

Status Session::State::fetch_values() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!needs_value(i)) continue;
    const TensorType& type = dense_inputs_[i].type;
    if (inputs_[i].value.type() != type) {
      PLICA_TRY(inputs_[i].value, Tensor::zeros(type.dtype, type.shape));
    }
    PLICA_CHECK(model->context->copy(inputs_[i].value.data(), dense_inputs_[i].data, inputs_[i].value.num_bytes(),
                                     runner->stream()));
    host_inputs_[i].data = inputs_[i].value.data();
  }
  return {};
}

// Planning may find that it needs the value of an input which is on the device.
Result<std::shared_ptr<const Planned>> Session::State::find_plan() {
  while (true) {
    auto found = model->plan(host_inputs_);
    if (found) return found;
    bool any_new = false;
    for (size_t i = 0; i < inputs_.size(); ++i) any_new |= host_inputs_[i].data == nullptr && needs_value(i);
    if (!any_new) return found;
    PLICA_CHECK(fetch_values());
  }
}

Status Session::State::prepare() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].is_bound)
      return Error(Code::kInvalidInput, "input '" + model->source.inputs[i].name + "' is missing, wanted " +
                                            to_string(model->source.inputs[i]));
    if (dense_inputs_[i].data != inputs_[i].view.data) stage(inputs_[i]);
  }
  if (planned != nullptr && planned->reads_values) PLICA_CHECK(fetch_values());
  if (planned != nullptr && planned->fits(host_inputs_)) return {};
  PLICA_TRY(std::shared_ptr<const Planned> wanted, find_plan());
  PLICA_CHECK(runner->prepare(wanted->plan));
  planned = std::move(wanted);
  outputs.clear();
  for (const TensorType& type : planned->plan->outputs) outputs.push_back({type, nullptr});
  return {};
}

Status Session::State::bind_ports() {
  PLICA_CHECK(prepare());
  for (size_t i = 0; i < dense_inputs_.size(); ++i) PLICA_CHECK(runner->bind_input(i, dense_inputs_[i].data));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (bound_outputs_[i].data != nullptr) PLICA_CHECK(check_output(i));
    PLICA_CHECK(runner->bind_output(i, bound_outputs_[i].data));
  }
  return {};
}

Status Session::State::trace(std::span<double> step_times) {
  PLICA_CHECK(bind_ports());
  return runner->trace(step_times);
}

Status Session::State::run(std::span<double> step_ms) {
  PLICA_CHECK(bind_ports());
  PLICA_CHECK(runner->run(step_ms));
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i].data = runner->output(i);
  return {};
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Status Session::bind(size_t index, const TensorView& input) {
  return guarded([&] { return state_->bind(index, input); });
}

Status Session::bind_output(size_t index, const TensorView& output) {
  return guarded([&] { return state_->bind_output(index, output); });
}

Status Session::run() {
  return guarded([&] { return state_->run(); });
}

Status Session::synchronize() {
  return guarded([&] { return state_->runner->synchronize(); });
}

Status Session::set_stream(void* stream) {
  return guarded([&] { return state_->runner->set_stream(stream); });
}

const std::vector<TensorView>& Session::outputs() const { return state_->outputs; }

}  // namespace plica
