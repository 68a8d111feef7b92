#include "runtime/exec/step_operands.h"

#include "runtime/exec/upload.h"

namespace plica {

StepOperands::StepOperands(const Plan& plan, std::byte* arena, std::byte* tables) : plan_(plan), arena_(arena) {
  inputs_.resize(plan.inputs.size());
  outputs_.resize(plan.outputs.size());
  const std::vector<size_t> offsets = table_offsets(plan);
  for (const Step& step : plan.steps) {
    const size_t in = operands_.size();
    for (const Place& place : step.in) add_operand(place, tables, offsets);
    const size_t out = operands_.size();
    for (const Place& place : step.out) add_operand(place, tables, offsets);
    calls_.push_back({&step, in, out, arena_ + step.scratch_offset});
  }
  for (const StepRun& run : plan.runs) {
    run_constants_.push_back(operands_.size());
    for (const Place& place : run.constants) add_operand(place, tables, offsets);
    add_operand(run.own, tables, offsets);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) bind_output(i, nullptr);
}

void StepOperands::add_operand(const Place& place, std::byte* tables, const std::vector<size_t>& offsets) {
  TensorView view{place.type, nullptr};
  const auto index = static_cast<size_t>(place.index);
  const Use use{operands_.size(), place.offset_bytes};
  switch (place.kind) {
    case Place::Kind::kAbsent: break;
    case Place::Kind::kArena: view.data = arena_ + place.offset_bytes; break;
    case Place::Kind::kInput: inputs_[index].uses.push_back(use); break;
    case Place::Kind::kOutput: outputs_[index].uses.push_back(use); break;
    case Place::Kind::kConstant: view.data = const_cast<void*>(place.constant->data); break;
    case Place::Kind::kTable: view.data = tables + offsets[index] + place.offset_bytes; break;
  }
  if (place.kind == Place::Kind::kConstant && view.data == nullptr) view.data = arena_;  // nobody reads it
  operands_.push_back(std::move(view));
}

void StepOperands::bind(Port& port, void* data) {
  if (port.data == data) return;
  port.data = data;
  for (const Use& use : port.uses) operands_[use.operand].data = static_cast<std::byte*>(data) + use.offset_bytes;
}

void StepOperands::bind_input(size_t index, const void* data) {
  bind(inputs_[index], data != nullptr ? const_cast<void*>(data) : arena_);
}

void StepOperands::bind_output(size_t index, void* data) {
  bind(outputs_[index], data != nullptr ? data : arena_ + plan_.output_places[index].offset_bytes);
}

void StepOperands::fill(size_t step, KernelArgs& args) const {
  const Call& call = calls_[step];
  args.in = {operands_.data() + call.in, call.step->in.size()};
  args.out = {operands_.data() + call.out, call.step->out.size()};
  args.scratch = call.scratch;
  args.state = call.step->state.get();
}

void StepOperands::fill(const StepRun& run, RunArgs& args) const {
  const TensorView* const first = operands_.data() + run_constants_[static_cast<size_t>(&run - plan_.runs.data())];
  args.constants = {first, run.constants.size()};
  args.own = first[run.constants.size()].data;
  args.state = run.state.get();
  args.scratch = arena_ + run.scratch_offset;
}

}  // namespace plica
