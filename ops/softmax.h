#pragma once

#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// y = exp(z - max) / sum over the last axis (or its logarithm) of z = x + bias, masked; in fp32 (f64 for f64). A row of -inf
// gives NaN, an empty row nothing.
//   x     (..., N)  f32 | f64 | f16 | bf16, any strides
//   bias  broadcasts to x; as x, optional: added
//   mask  broadcasts to x; optional; as x: added after bias; bool: where false z becomes `fill`
//   y     (..., N)  as x
struct Softmax {
  bool log = false;
  double fill = 0;         // for a bool mask
  bool zero_nan = false;   // what is NaN becomes zero
  bool attention = false;  // y are weights of attention: counted as such, all else is the same
  bool operator==(const Softmax&) const = default;
  static constexpr auto fields() {
    return std::tuple{Field{"log", &Softmax::log}, Field{"fill", &Softmax::fill}, Field{"zero_nan", &Softmax::zero_nan},
                      Field{"attention", &Softmax::attention}};
  }
};

}  // namespace plica::ops
