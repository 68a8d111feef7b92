#include "runtime/exec/plan.h"

#include <algorithm>

#include "runtime/core/dtype.h"

namespace plica {
namespace {

std::string to_text(const Place& place) {
  switch (place.kind) {
    case Place::Kind::kAbsent: return "-";
    case Place::Kind::kArena: return "arena+" + std::to_string(place.offset_bytes);
    case Place::Kind::kInput: return "in" + std::to_string(place.index) + "+" + std::to_string(place.offset_bytes);
    case Place::Kind::kOutput: return "out" + std::to_string(place.index) + "+" + std::to_string(place.offset_bytes);
    case Place::Kind::kConstant: return "const";
    case Place::Kind::kTable: return "table" + std::to_string(place.index) + "+" + std::to_string(place.offset_bytes);
  }
  return {};
}

void append_places(const std::vector<Place>& places, std::string& text) {
  for (size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    if (i > 0) text.append(", ");
    text.append(to_text(place));
    if (place.kind == Place::Kind::kAbsent) continue;
    text.append(" ").append(to_string(place.type));
    if (!place.type.strides.empty()) text.append(" by ").append(to_string(AttrValue(place.type.strides)));
  }
}

void append_scratch(int64_t offset, size_t bytes, std::string& text) {
  if (bytes > 0) text.append(" scratch ").append(std::to_string(offset)).append("+").append(std::to_string(bytes));
}

}  // namespace

bool can_fault(const Step& step) {
  return std::any_of(step.in.begin(), step.in.end(), [](const Place& place) {
    return place.kind != Place::Kind::kAbsent && is_integer(place.type.dtype);
  });
}

std::string describe_run(const RunKernel& kernel, const Step& first, const Step& last) {
  std::string text(kernel.name);
  text.append(" from ").append(first.op->name).append(" '").append(first.name);
  return text.append("' to ").append(last.op->name).append(" '").append(last.name).append("'");
}

std::string to_text(const StepRun& run) {
  std::string text = "steps " + std::to_string(run.first);
  text.append(" to ").append(std::to_string(run.last()));
  return text.append(" are one launch by ").append(run.kernel->name);
}

const StepRun* Plan::run_of(size_t step) const {
  const auto behind = std::upper_bound(runs.begin(), runs.end(), step,
                                       [](size_t wanted, const StepRun& run) { return wanted < run.first; });
  return behind != runs.begin() && step <= std::prev(behind)->last() ? &*std::prev(behind) : nullptr;
}

std::string Plan::to_text() const {
  std::string text;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    text.append(std::to_string(i)).append(": ");
    append_places(step.out, text);
    text.append(" = ").append(step.op->name).append(".").append(step.kernel->name).append("(");
    append_places(step.in, text);
    text.append(")");
    if (const std::string attrs = to_string(step.attrs); !attrs.empty()) text.append(" ").append(attrs);
    append_scratch(step.scratch_offset, step.scratch_bytes, text);
    if (!step.name.empty()) text.append(" '").append(step.name).append("'");
    text.append("\n");
  }
  for (const StepRun& run : runs) {
    text.append(plica::to_text(run));
    append_scratch(run.scratch_offset, run.scratch_bytes, text);
    text.append("\n");
  }
  return text.append(plica::to_text(lifetimes, memory));
}

}  // namespace plica
