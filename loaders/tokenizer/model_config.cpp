#include "loaders/tokenizer/model_config.h"

#include <filesystem>

#include "loaders/tokenizer/json_file.h"
#include "runtime/core/result.h"

namespace plica {

Result<std::optional<ModelConfig>> read_model_config(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / "config.json").string();
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::optional<ModelConfig>();
  PLICA_TRY(const nlohmann::json root, read_json_object(path));
  ModelConfig out;
  out.file = path;
  const auto text = [&](const char* name) {
    const nlohmann::json& value = member(root, name);
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  out.model_type = text("model_type");
  out.position_type = text("position_embedding_type");
  const nlohmann::json& positions = member(root, "max_position_embeddings");
  if (positions.is_number_integer()) out.max_positions = positions.get<int64_t>();
  return std::optional<ModelConfig>(std::move(out));
}

}  // namespace plica
