#pragma once

#include <cstdint>
#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// y[b, i] = x[b, indices[b, i, :]]: the last axis of `indices` addresses the leading axes of x behind `batch_dims`
// common ones.
//   x  (...) any;  indices (..., R) i64
struct GatherNd {
  int64_t batch_dims = 0;
  bool operator==(const GatherNd&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"batch_dims", &GatherNd::batch_dims}}; }
};

}  // namespace plica::ops
