#pragma once

#include <cstdint>
#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// y = x with axis `axis` replaced by the axes of `indices`; a negative index counts from the end, one outside is
// kInvalidInput.
//   x        (..., N, ...)  any
//   indices  (...)          i32 | i64
//   y        (x before axis, indices, x after axis)
struct Gather {
  int64_t axis = 0;
  bool operator==(const Gather&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"axis", &Gather::axis}}; }
};

}  // namespace plica::ops
