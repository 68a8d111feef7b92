#pragma once

#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// y = exp(x - max) / sum over the last axis (or its logarithm); in fp32 (f64 for f64). A row of -inf gives NaN, an
// empty row nothing.
//   x, y  (..., N)  f32 | f64 | f16 | bf16, any strides
struct Softmax {
  bool log = false;
  bool operator==(const Softmax&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"log", &Softmax::log}}; }
};

}  // namespace plica::ops
