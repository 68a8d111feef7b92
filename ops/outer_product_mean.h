#pragma once

#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// y[b,i,j,:] = (sum over s of a[b,s,i,c] * b[b,s,j,e], flattened over (c,e)) / norm[b,i,j] @ weight + bias: the outer
// product mean of AlphaFold 2 (supplement, algorithm 10) behind its two projections. The N x N x (C1 C2) products never
// exist at once.
//   a         (B, S, N, C1)    f32 | f64 | f16 | bf16, any strides
//   b         (B, S, M, C2)    as a
//   weight    (C1 * C2, C)     as a
//   bias      (C)              as a, optional
//   norm      broadcasts to (B, N, M, 1), as a, optional: a divisor
//   residual  (B, N, M, C)     as a, optional
//   y         (B, N, M, C)     as a
struct OuterProductMean {
  double scale = 1;  // of the sums, beside the division by norm
  bool operator==(const OuterProductMean&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"scale", &OuterProductMean::scale}}; }
};

}  // namespace plica::ops
