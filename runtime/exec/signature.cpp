#include "runtime/exec/signature.h"

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

}  // namespace plica
