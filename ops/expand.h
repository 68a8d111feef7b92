#pragma once

#include <tuple>
#include <vector>

#include "ops/attrs.h"

namespace plica::ops {

// A view: x broadcast (NumPy's rules) to `shape`, which is at least as large as x in each axis. Any dtype.
struct Expand {
  std::vector<int64_t> shape;
  bool operator==(const Expand&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"shape", &Expand::shape}}; }
};

}  // namespace plica::ops
