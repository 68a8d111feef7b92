#pragma once

#include <cstdint>
#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// Inputs side by side along `axis`; all other sizes are equal. One dtype.
struct Concat {
  int64_t axis = 0;
  bool operator==(const Concat&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"axis", &Concat::axis}}; }
};

}  // namespace plica::ops
