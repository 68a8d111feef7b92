#include "runtime/exec/plan.h"

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

}  // namespace

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
    if (step.scratch_bytes > 0)
      text.append(" scratch ")
          .append(std::to_string(step.scratch_offset))
          .append("+")
          .append(std::to_string(step.scratch_bytes));
    if (!step.name.empty()) text.append(" '").append(step.name).append("'");
    text.append("\n");
  }
  return text.append(plica::to_text(lifetimes, memory));
}

}  // namespace plica
