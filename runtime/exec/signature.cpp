#include "runtime/exec/signature.h"

#include "runtime/core/result.h"

namespace plica {

std::string Signature::key() const {
  std::string key;
  for (size_t i = 0; i < inputs.size(); ++i) {
    key.append(to_string(inputs[i]));
    if (i < values.size() && values[i]) {
      const auto* bytes = static_cast<const char*>(values[i]->data());
      key.append("=").append(bytes, values[i]->num_bytes());
    }
    key.append(";");
  }
  return key;
}

Source select_outputs(const Source& source, std::vector<size_t> indices) {
  Source selected{source.inputs, {}, nullptr};
  for (size_t i : indices) selected.outputs.push_back(source.outputs[i]);
  selected.specialise = [specialise = source.specialise, indices = std::move(indices)](
                            const Signature& signature) -> Result<std::variant<Graph, NeedsValues>> {
    PLICA_TRY(auto specialised, specialise(signature));
    if (auto* graph = std::get_if<Graph>(&specialised)) graph->select_outputs(indices);
    return specialised;
  };
  return selected;
}

}  // namespace plica
