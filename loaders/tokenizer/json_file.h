#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "plica/error.h"

namespace plica {

// All of a text file of at most 64 MiB, without a byte order mark.
Result<std::string> read_small_file(const std::string& path);

// A file that holds one JSON object.
Result<nlohmann::json> read_json_object(const std::string& path);

// The member of an object, or null where it has none or is no object.
const nlohmann::json& member(const nlohmann::json& object, const char* name);

}  // namespace plica
