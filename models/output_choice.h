#pragma once

#include <string>
#include <vector>

#include "models/family.h"

namespace plica {

// The index of the output that holds the vectors: options.output or options.layer, else by name (last_hidden_state,
// representations, hidden states with the highest number), else the only (B, L, C) output of floats that is no logits of
// `vocabulary_size` columns. What was not plain from a name is added to `guesses`. kInvalidInput lists the outputs.
Result<size_t> choose_output(const std::vector<ModelPort>& outputs, const FamilyOptions& options,
                             int64_t vocabulary_size, std::vector<std::string>& guesses);

}  // namespace plica
