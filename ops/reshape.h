#pragma once

#include <tuple>
#include <vector>

#include "ops/attrs.h"

namespace plica::ops {

// A view where strides allow, else the planner copies: the elements of x in row-major order as `shape` (all sizes
// known, none -1). Any dtype.
struct Reshape {
  std::vector<int64_t> shape;
  bool operator==(const Reshape&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"shape", &Reshape::shape}}; }
};

}  // namespace plica::ops
