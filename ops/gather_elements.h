#pragma once

#include <cstdint>
#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// y[i][j][k] = x[i][indices[i][j][k]][k] for axis 1 (and likewise for others); negative indices count from the end.
//   x        (...)  any;  indices, y  (...) of the same rank; indices i32 | i64
struct GatherElements {
  int64_t axis = 0;
  bool operator==(const GatherElements&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"axis", &GatherElements::axis}}; }
};

}  // namespace plica::ops
