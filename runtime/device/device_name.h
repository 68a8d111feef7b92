#pragma once

#include <string>

#include "runtime/core/result.h"

namespace plica {

// Whether the name is that of a device, be it there or not: "cpu", "cuda" or "cuda:N". kInvalidInput where it is not.
Status check_device_name(const std::string& name);

}  // namespace plica
