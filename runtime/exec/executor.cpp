#include "runtime/exec/executor.h"

#include <chrono>

#include "runtime/exec/team_size.h"

namespace plica {
namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Error to_error(const Fault& fault, const Step& step) {
  const std::string limit = std::to_string(fault.limit);
  std::string text(step.op->name);
  text.append(" '").append(step.name).append("': ").append(fault.what).append(" ").append(std::to_string(fault.found));
  text.append(", wanted -").append(limit).append(" <= ").append(fault.what).append(" < ").append(limit);
  return Error(Code::kInvalidInput, std::move(text));
}

}  // namespace

Executor::Executor(std::shared_ptr<const Plan> plan, std::byte* arena) : plan_(std::move(plan)), arena_(arena) {
  inputs_.resize(plan_->inputs.size());
  outputs_.resize(plan_->outputs.size());
  for (const Step& step : plan_->steps) {
    const size_t in = operands_.size();
    for (const Place& place : step.in) add_operand(place);
    const size_t out = operands_.size();
    for (const Place& place : step.out) add_operand(place);
    calls_.push_back({&step, in, out, arena_ + step.scratch_offset});
  }
  for (size_t i = 0; i < outputs_.size(); ++i) bind_output(i, nullptr);
}

void Executor::add_operand(const Place& place) {
  TensorView view{place.type, nullptr};
  const Use use{operands_.size(), place.offset_bytes};
  switch (place.kind) {
    case Place::Kind::kAbsent: break;
    case Place::Kind::kArena: view.data = arena_ + place.offset_bytes; break;
    case Place::Kind::kInput: inputs_[static_cast<size_t>(place.index)].uses.push_back(use); break;
    case Place::Kind::kOutput: outputs_[static_cast<size_t>(place.index)].uses.push_back(use); break;
    case Place::Kind::kConstant: view.data = const_cast<void*>(place.constant->data); break;
  }
  if (place.kind == Place::Kind::kConstant && view.data == nullptr) view.data = arena_;  // it has no elements
  operands_.push_back(std::move(view));
}

void Executor::bind(Port& port, void* data) {
  if (port.data == data) return;
  port.data = data;
  for (const Use& use : port.uses) operands_[use.operand].data = static_cast<std::byte*>(data) + use.offset_bytes;
}

void Executor::bind_input(size_t index, const void* data) {
  bind(inputs_[index], data != nullptr ? const_cast<void*>(data) : arena_);
}

void Executor::bind_output(size_t index, void* data) {
  bind(outputs_[index], data != nullptr ? data : arena_ + plan_->output_places[index].offset_bytes);
}

Status Executor::run(std::span<double> step_ms) {
  const TeamSize team(plan_->device.num_threads);
  Fault fault;
  KernelArgs args;
  args.fault = &fault;
  args.num_threads = plan_->device.num_threads;
  double last_ms = step_ms.empty() ? 0 : now_ms();
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Call& call = calls_[i];
    const Step& step = *call.step;
    args.in = {operands_.data() + call.in, step.in.size()};
    args.out = {operands_.data() + call.out, step.out.size()};
    args.scratch = call.scratch;
    args.state = step.state.get();
    step.kernel->run(step.attrs.get(), args);
    if (fault.what != nullptr) return to_error(fault, step);
    if (step_ms.empty()) continue;
    const double ms = now_ms();
    step_ms[i] = ms - last_ms;
    last_ms = ms;
  }
  return {};
}

}  // namespace plica
