#pragma once

#include <array>
#include <string_view>
#include <tuple>
#include <vector>

#include "ops/attrs.h"

namespace plica::ops {

enum class PadMode : uint8_t { kConstant, kReflect, kEdge, kWrap };
constexpr std::array<std::string_view, 4> names_of(PadMode) { return {"constant", "reflect", "edge", "wrap"}; }

// x with `before` and `after` elements added (negative: cut) at each axis.
//   x      (...)  any
//   value  ()     as x, optional (zero): what kConstant fills in
struct Pad {
  std::vector<int64_t> before;
  std::vector<int64_t> after;
  PadMode mode = PadMode::kConstant;
  bool operator==(const Pad&) const = default;
  static constexpr auto fields() {
    return std::tuple{Field{"before", &Pad::before}, Field{"after", &Pad::after}, Field{"mode", &Pad::mode}};
  }
};

}  // namespace plica::ops
