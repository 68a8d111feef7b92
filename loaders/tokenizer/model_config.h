#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plica/error.h"

namespace plica {

// What the config.json that the transformers library puts beside a model says of its inputs.
struct ModelConfig {
  std::string model_type;     // "esm", "bert", "t5", ...
  std::string position_type;  // position_embedding_type: "absolute", "rotary", ...
  int64_t max_positions = 0;  // max_position_embeddings; 0 where it is not given
  std::string file;
};

// From config.json of one folder; nothing where there is none.
Result<std::optional<ModelConfig>> read_model_config(const std::string& folder);

}  // namespace plica
