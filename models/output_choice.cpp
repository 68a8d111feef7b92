#include "models/output_choice.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "runtime/core/dtype.h"
#include "runtime/core/result.h"

namespace plica {
namespace {

std::string names_of(const std::vector<ModelPort>& outputs) {
  std::string text;
  for (const ModelPort& output : outputs) text.append(text.empty() ? "" : ", ").append(output.name);
  return text;
}

// The number at the end of a name: "representations_33" gives 33; -1 where there is none.
int64_t number_of(const std::string& name) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  int64_t number = -1;
  std::from_chars(name.data() + digits, name.data() + name.size(), number);
  return number;
}

bool is_layer(const std::string& name) {
  constexpr std::array kStems = {"representation", "hidden_state", "hidden", "layer"};
  return std::any_of(kStems.begin(), kStems.end(), [&](const char* stem) { return name.starts_with(stem); });
}

}  // namespace

Result<size_t> choose_output(const std::vector<ModelPort>& outputs, const FamilyOptions& options,
                             int64_t vocabulary_size, std::vector<std::string>& guesses) {
  constexpr std::array kKnown = {"last_hidden_state", "representations", "embeddings", "hidden_states",
                                 "encoder_output"};
  const auto index_where = [&](auto&& fits) {
    return static_cast<size_t>(std::find_if(outputs.begin(), outputs.end(), fits) - outputs.begin());
  };
  if (!options.output.empty()) {
    const size_t found = index_where([&](const ModelPort& port) { return port.name == options.output; });
    if (found < outputs.size()) return found;
    return Error(Code::kInvalidInput, "the model has no output '" + options.output + "'; it has " + names_of(outputs));
  }
  if (options.layer) {
    const size_t found = index_where(
        [&](const ModelPort& port) { return is_layer(port.name) && number_of(port.name) == *options.layer; });
    if (found < outputs.size()) return found;
    return Error(Code::kInvalidInput, "no output of the model is named for layer " + std::to_string(*options.layer) +
                                          "; it has " + names_of(outputs) +
                                          " (export the layers that are wanted as outputs)");
  }
  for (const char* known : kKnown) {
    const size_t found = index_where([&](const ModelPort& port) { return port.name == known; });
    if (found < outputs.size()) return found;
  }
  size_t last_layer = outputs.size();
  std::vector<size_t> candidates;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ModelPort& port = outputs[i];
    if (!is_float(port.dtype)) continue;
    if (is_layer(port.name) &&
        (last_layer == outputs.size() || number_of(port.name) > number_of(outputs[last_layer].name)))
      last_layer = i;
    if (port.name.find("logits") != std::string::npos) continue;
    if (port.shape.size() == 3 && port.shape[2] != vocabulary_size) candidates.push_back(i);
  }
  if (last_layer < outputs.size()) return last_layer;
  if (candidates.size() != 1)
    return Error(Code::kInvalidInput,
                 "cannot tell which output holds the vectors; give --output NAME, one of " + names_of(outputs));
  guesses.push_back("the vectors are in output '" + outputs[candidates[0]].name +
                    "', by its shape (--output NAME if not)");
  return candidates[0];
}

}  // namespace plica
