#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

enum class ScatterReduction : uint8_t { kNone, kAdd, kMul, kMax, kMin };
constexpr std::array<std::string_view, 5> names_of(ScatterReduction) { return {"none", "add", "mul", "max", "min"}; }

// y = x; then y[i][indices[i][j]...] = updates (for axis 1, and likewise), or combined with what is there by
// `reduction`, in index order.
//   x, y  (...) any;  indices, updates  (...) of the same rank; indices i32 | i64, negative ones count from the end
struct ScatterElements {
  int64_t axis = 0;
  ScatterReduction reduction = ScatterReduction::kNone;
  bool operator==(const ScatterElements&) const = default;
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &ScatterElements::axis}, Field{"reduction", &ScatterElements::reduction}};
  }
};

}  // namespace plica::ops
