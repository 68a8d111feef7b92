#pragma once

#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// y = x, dense whatever the strides of x: what turns a view into memory. Any dtype.
struct Copy {
  bool operator==(const Copy&) const = default;
  static constexpr auto fields() { return std::tuple{}; }
};

}  // namespace plica::ops
