#pragma once

#include <string>

#include "plica/tensor.h"

namespace plica {

struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

// How far `found` is from `wanted`.
struct Difference {
  bool within = true;    // same dtype and shape, and |found - wanted| <= absolute + relative * |wanted| everywhere
  double largest = 0;    // max |found - wanted|
  double relative = 0;   // max |found - wanted| / (1 + |wanted|)
  std::string sentence;  // where it is not within: the first such place and what stands there
};

// NaN equals NaN, and an infinity only itself. Views may have strides.
Difference compare(const TensorView& found, const TensorView& wanted, const Tolerance& tolerance);

}  // namespace plica
