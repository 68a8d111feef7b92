#pragma once

#include <cstdint>
#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// y = x where on or above the k-th diagonal of the last two axes (on or below it where not `upper`), zero elsewhere.
// Any dtype.
struct Trilu {
  bool upper = true;
  int64_t k = 0;
  bool operator==(const Trilu&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"upper", &Trilu::upper}, Field{"k", &Trilu::k}}; }
};

}  // namespace plica::ops
