#include "runtime/device/device_name.h"

#include <string_view>

namespace plica {

Status check_device_name(const std::string& name) {
  constexpr std::string_view kOrdinal = "cuda:";
  const std::string digits = name.starts_with(kOrdinal) ? name.substr(kOrdinal.size()) : "";
  const bool is_ordinal = !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
  if (name == "cpu" || name == "cuda" || is_ordinal) return {};
  return Error(Code::kInvalidInput, "device '" + name + "', wanted cpu or cuda:N");
}

}  // namespace plica
