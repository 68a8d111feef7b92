#pragma once

#include <tuple>

#include "ops/attrs.h"
#include "ops/scatter_elements.h"

namespace plica::ops {

// y = x; then y[indices[i, :]] = updates[i] (or combined by `reduction`), in index order.
//   x, y  (...) any;  indices (..., R) i64;  updates (indices without R, x behind R axes)
struct ScatterNd {
  ScatterReduction reduction = ScatterReduction::kNone;
  bool operator==(const ScatterNd&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"reduction", &ScatterNd::reduction}}; }
};

}  // namespace plica::ops
