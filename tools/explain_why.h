#pragma once

#include <string>

#include "runtime/api/model_state.h"

namespace plica {

// What became of the file's node of this name in a plan for `signature`: behind which pass it was gone, and which rules came near it,
// how far, and what stood in their way. kInvalidInput where the graph has no node of the name.
Result<std::string> explain_why(const Model::State& model, const Signature& signature, const std::string& node_name);

}  // namespace plica
