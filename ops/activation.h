#pragma once

#include <cmath>

#include "ops/mat_mul.h"

namespace plica::ops {

// As reference kernels compute it.
inline double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::kRelu: return x < 0 ? 0 : x;
    case Activation::kGelu: return 0.5 * x * (1 + std::erf(x * M_SQRT1_2));
    case Activation::kGeluTanh: return 0.5 * x * (1 + std::tanh(M_2_SQRTPI * M_SQRT1_2 * (x + 0.044715 * x * x * x)));
    case Activation::kSilu: return x / (1 + std::exp(-x));
    case Activation::kSigmoid: return 1 / (1 + std::exp(-x));
    case Activation::kTanh: return std::tanh(x);
    default: return x;
  }
}

}  // namespace plica::ops
