#include "loaders/tokenizer/json_file.h"

#include "loaders/file/byte_source.h"
#include "runtime/core/result.h"

namespace plica {

Result<std::string> read_small_file(const std::string& path) {
  constexpr uint64_t kLargest = uint64_t{64} << 20;
  PLICA_TRY(const auto file, InputFile::open(path));
  if (file->size_bytes() > kLargest)
    return Error(Code::kInvalidInput, "'" + path + "' has " + std::to_string(file->size_bytes()) + " bytes; at most " +
                                          std::to_string(kLargest) + " are read");
  std::string text(file->size_bytes(), '\0');
  PLICA_CHECK(file->read_at(0, text.data(), text.size()));
  PLICA_TRY(const size_t mark, skip_byte_order_mark(path, text));
  return text.substr(mark);
}

Result<nlohmann::json> read_json_object(const std::string& path) {
  PLICA_TRY(const std::string text, read_small_file(path));
  nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  if (!value.is_object()) return Error(Code::kInvalidInput, "'" + path + "' is no JSON object");
  return value;
}

const nlohmann::json& member(const nlohmann::json& object, const char* name) {
  static const nlohmann::json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

}  // namespace plica
