#pragma once

#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// y = x * cos + rotate(x) * sin (Su and others 2021, RoFormer). rotate(x)[d] over the last axis D (even): halves: -x[d
// + D/2] for d < D/2, else x[d - D/2]; interleaved: -x[d + 1] for even d, else x[d - 1].
//   x         (..., L, D)  f32 | f64 | f16 | bf16, any strides
//   cos, sin  broadcast to x; as x
//   y         (..., L, D)  as x
struct Rotary {
  bool interleaved = false;
  bool operator==(const Rotary&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"interleaved", &Rotary::interleaved}}; }
};

}  // namespace plica::ops
