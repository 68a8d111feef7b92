#include "tools/input_shapes.h"

#include <charconv>
#include <map>
#include <optional>

#include "runtime/core/result.h"

namespace plica {
namespace {

std::optional<Shape> parse_shape(std::string_view text) {
  Shape shape;
  if (text == "scalar") return shape;
  for (;;) {
    int64_t size = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (code != std::errc() || size < 0) return std::nullopt;
    shape.push_back(size);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) return shape;
    if (text.front() != 'x') return std::nullopt;
    text.remove_prefix(1);
  }
}

std::string symbol_of(const TensorInfo& info, size_t axis) {
  return axis < info.symbols.size() ? info.symbols[axis] : std::string();
}

struct Given {
  std::map<std::string, Shape> inputs;
  std::map<std::string, int64_t> symbols;
};

Status take_argument(const std::vector<TensorInfo>& inputs, const std::string& argument, Given& given) {
  const size_t equals = argument.rfind('=');
  const std::string name = argument.substr(0, equals);
  const auto shape = equals == std::string::npos || equals == 0
                         ? std::nullopt
                         : parse_shape(std::string_view(argument).substr(equals + 1));
  if (!shape)
    return Error(Code::kInvalidInput,
                 "--shape " + argument + " cannot be read; wanted: INPUT=2x128, INPUT=scalar or SYMBOL=128");
  for (const TensorInfo& info : inputs) {
    if (info.name == name) {
      given.inputs[name] = *shape;
      return {};
    }
    for (const std::string& symbol : info.symbols)
      if (symbol == name && shape->size() == 1) {
        given.symbols[name] = shape->front();
        return {};
      }
  }
  std::string known;
  for (const TensorInfo& info : inputs) known += (known.empty() ? "" : "; ") + describe(info);
  return Error(Code::kInvalidInput,
               "--shape " + argument + ": the model has no input or size '" + name + "'; it has " + known);
}

Status check_given(const TensorInfo& info, const Shape& shape, Given& given) {
  if (!info.has_rank) return {};
  if (shape.size() != info.shape.size())
    return Error(Code::kInvalidInput, "input " + describe(info) + " has " + std::to_string(info.shape.size()) +
                                          " axes; --shape gives " + to_string(shape));
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (info.shape[axis] >= 0 && info.shape[axis] != shape[axis])
      return Error(Code::kInvalidInput, "axis " + std::to_string(axis) + " of input " + describe(info) +
                                            " is fixed; --shape gives " + to_string(shape));
    const std::string symbol = symbol_of(info, axis);
    if (!symbol.empty()) given.symbols.emplace(symbol, shape[axis]);
  }
  return {};
}

}  // namespace

std::string describe(const TensorInfo& info) {
  std::string text = info.name + " " + std::string(name_of(info.dtype));
  if (!info.has_rank) return text + " of any shape";
  if (info.shape.empty()) return text + " scalar";
  for (size_t axis = 0; axis < info.shape.size(); ++axis) {
    const std::string symbol = symbol_of(info, axis);
    text += axis == 0 ? " " : " x ";
    text += info.shape[axis] >= 0 ? std::to_string(info.shape[axis]) : symbol.empty() ? "?" : symbol;
  }
  return text;
}

Result<std::vector<Shape>> resolve_shapes(const std::vector<TensorInfo>& inputs,
                                          const std::vector<std::string>& arguments) {
  Given given;
  for (const std::string& argument : arguments) PLICA_CHECK(take_argument(inputs, argument, given));
  for (const TensorInfo& info : inputs)
    if (const auto found = given.inputs.find(info.name); found != given.inputs.end())
      PLICA_CHECK(check_given(info, found->second, given));
  std::vector<Shape> shapes;
  std::string missing;
  for (const TensorInfo& info : inputs) {
    if (const auto found = given.inputs.find(info.name); found != given.inputs.end()) {
      shapes.push_back(found->second);
      continue;
    }
    Shape shape = info.shape;
    bool known = info.has_rank;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] >= 0) continue;
      const auto found = given.symbols.find(symbol_of(info, axis));
      known &= found != given.symbols.end();
      if (found != given.symbols.end()) shape[axis] = found->second;
    }
    if (!known) missing += (missing.empty() ? "" : "; ") + describe(info);
    shapes.push_back(std::move(shape));
  }
  if (!missing.empty()) return Error(Code::kInvalidInput, "sizes are missing, give --shape for: " + missing);
  return shapes;
}

}  // namespace plica
