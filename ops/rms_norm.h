#pragma once

#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// y[..., c] = x / sqrt(mean(x * x) + eps) * gamma[c], the mean over the last axis C, in fp32 (f64 for f64).
//   x      (..., C)  f32 | f64 | bf16 | f16, any strides
//   gamma  (C)       as x, optional
//   y      (..., C)  as x
struct RmsNorm {
  double eps = 1e-5;
  bool operator==(const RmsNorm&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"eps", &RmsNorm::eps}}; }
};

}  // namespace plica::ops
