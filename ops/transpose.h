#pragma once

#include <tuple>
#include <vector>

#include "ops/attrs.h"

namespace plica::ops {

// A view: axis i of y is axis perm[i] of x. Any dtype.
struct Transpose {
  std::vector<int64_t> perm;
  bool operator==(const Transpose&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"perm", &Transpose::perm}}; }
};

}  // namespace plica::ops
