#include "ops/attrs.h"

#include <charconv>

namespace plica {
namespace {

std::string shortest(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

struct Printer {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  // A float keeps a point or an exponent, so that it parses back as one.
  std::string operator()(double value) const {
    std::string text = shortest(value);
    if (text.find_first_of(".en") == std::string::npos) text.append(".0");
    return text;
  }
  std::string operator()(DType value) const { return std::string(name_of(value)); }
  std::string operator()(const std::vector<int64_t>& values) const {
    std::string text = "[";
    for (size_t i = 0; i < values.size(); ++i) text.append(i ? "," : "").append(std::to_string(values[i]));
    return text.append("]");
  }
  std::string operator()(const std::string& value) const { return "\"" + value + "\""; }
};

}  // namespace

std::string to_string(const AttrValue& value) { return std::visit(Printer{}, value); }

// A translation unit may have an AttrsDef of its own for one struct; its functions are the same ones everywhere.
bool Attrs::operator==(const Attrs& other) const {
  if (value_ == other.value_) return true;
  if (def_ == nullptr || other.def_ == nullptr || def_->equal != other.def_->equal) return false;
  return def_->equal(value_.get(), other.value_.get());
}

std::string to_string(const Attrs& attrs) {
  if (attrs.def() == nullptr || attrs.def()->names.empty()) return "";
  const std::shared_ptr<void> defaults = attrs.def()->clone(nullptr);
  std::string text;
  for (size_t i = 0; i < attrs.def()->names.size(); ++i) {
    AttrValue value = attrs.def()->get(attrs.get(), i);
    if (value == attrs.def()->get(defaults.get(), i)) continue;
    text.append(text.empty() ? "{" : ", ").append(attrs.def()->names[i]).append("=").append(to_string(value));
  }
  return text.empty() ? text : text.append("}");
}

}  // namespace plica
