#pragma once

#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// y[..., c] = (x - mean(x)) / sqrt(var(x) + eps) * gamma[c] + beta[c], moments over the last axis C, in fp32 (f64 for
// f64), in two passes.
//   x      (..., C)  f32 | f64 | bf16 | f16, any strides
//   gamma  (C)       as x, optional
//   beta   (C)       as x, optional
//   y      (..., C)  as x
struct LayerNorm {
  double eps = 1e-5;
  bool operator==(const LayerNorm&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"eps", &LayerNorm::eps}}; }
};

}  // namespace plica::ops
