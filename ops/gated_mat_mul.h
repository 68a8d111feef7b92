#pragma once

#include <tuple>

#include "ops/attrs.h"
#include "ops/mat_mul.h"

namespace plica::ops {

// y = mask * (norm(a) @ value^T + value_bias) * activation(norm(b) @ gate^T + gate_bias) + residual, each part where present:
// the gated projections of AlphaFold's triangle updates, SwiGLU and its kin. Where b is absent the gate reads norm(a).
// norm is LayerNorm over the last axis (with eps, gate_eps), and is there where its gamma is. Sums in fp32 (f64 for f64).
//   a           (..., M, K)  f32 | f64 | f16 | bf16; any strides
//   value       (N, K)       as a; any strides: a row for each column of y
//   gate        (N, Kb)      as value
//   value_bias  (N)          as a, optional
//   gate_bias   (N)          as a, optional
//   mask        broadcasts to (..., M, 1), as a, optional
//   b           (..., M, Kb) as a, optional
//   gamma       (K)          as a, optional; beta likewise
//   gate_gamma  (Kb)         as a, optional, only where b is there; gate_beta likewise
//   residual    broadcasts to (..., M, N), as a, optional
//   y           (..., M, N)  as a
struct GatedMatMul {
  Activation activation = Activation::kSigmoid;
  double eps = 1e-5, gate_eps = 1e-5;
  bool operator==(const GatedMatMul&) const = default;
  static constexpr auto fields() {
    return std::tuple{Field{"activation", &GatedMatMul::activation}, Field{"eps", &GatedMatMul::eps},
                      Field{"gate_eps", &GatedMatMul::gate_eps}};
  }

  // Where its operands stand.
  enum Operand : size_t {
    kA,
    kValue,
    kGate,
    kValueBias,
    kGateBias,
    kMask,
    kB,
    kGamma,
    kBeta,
    kGateGamma,
    kGateBeta,
    kResidual,
    kNumOperands
  };
};

}  // namespace plica::ops
