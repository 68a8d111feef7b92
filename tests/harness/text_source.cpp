#include "tests/harness/text_source.h"

#include <map>
#include <sstream>

#include "graph/text.h"
#include "runtime/core/dtype.h"

namespace plica {
namespace {

using Sizes = std::map<std::string, int64_t>;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool is_number(const std::string& text) { return text.find_first_not_of("0123456789") == std::string::npos; }

// "input x: f32 {B}x32"
Port port_of(const std::string& line) {
  std::istringstream words(line);
  std::string input, name, dtype, shape;
  words >> input >> name >> dtype >> shape;
  Port port{name.substr(0, name.size() - 1), *parse_dtype(dtype), true, {}, {}};
  if (shape == "scalar") return port;
  for (const std::string& size : split(shape, 'x')) {
    port.shape.push_back(is_number(size) ? std::stoll(size) : -1);
    port.symbols.push_back(is_number(size) ? "" : size.substr(1, size.size() - 2));
  }
  return port;
}

int64_t product(const std::string& factors, const Sizes& sizes) {
  int64_t value = 1;
  for (const std::string& factor : split(factors, '*'))
    value *= is_number(factor) ? std::stoll(factor) : sizes.at(factor);
  return value;
}

// Braces around attributes stay: they hold an equals sign.
std::string with_sizes(const std::string& text, const Sizes& sizes) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t end = text.find_first_of("}={", i + 1);
    if (text[i] != '{' || end == std::string::npos || text[end] != '}') {
      result.push_back(text[i]);
      continue;
    }
    result.append(std::to_string(product(text.substr(i + 1, end - i - 1), sizes)));
    i = end;
  }
  return result;
}

}  // namespace

Source text_source(std::string text) {
  Source source;
  for (const std::string& line : split(text, '\n')) {
    const size_t start = line.find_first_not_of(' ');
    if (start == std::string::npos) continue;
    if (line.compare(start, 6, "input ") == 0) source.inputs.push_back(port_of(line));
    if (line.compare(start, 7, "output ") == 0) {
      std::istringstream words(line);
      std::string output, name;
      words >> output >> name;
      source.outputs.push_back({name, DType::kF32, false, {}, {}});
    }
  }
  source.specialise = [text = std::move(text),
                       inputs = source.inputs](const Signature& signature) -> Result<std::variant<Graph, NeedsValues>> {
    Sizes sizes;
    for (size_t i = 0; i < inputs.size(); ++i)
      for (size_t axis = 0; axis < inputs[i].symbols.size(); ++axis)
        sizes[inputs[i].symbols[axis]] = signature.inputs[i].shape[axis];
    PLICA_TRY(Graph graph, parse_graph(with_sizes(text, sizes)));
    return std::variant<Graph, NeedsValues>(std::move(graph));
  };
  return source;
}

}  // namespace plica
