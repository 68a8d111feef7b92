#pragma once

#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// s = scale * (q @ k^T), capped as cap * tanh(s / cap) where cap is not 0, plus bias, then masked: the logits of
// attention while rules gather its parts. Has no kernels:
// `expand_scores` turns what no rule made into Attention back into MatMul and point-wise steps.
//   q     (..., H, L, D)  f32 | f64 | f16 | bf16, rank 2 or more, any strides (the head axis is just a leading axis)
//   k     (..., H, M, D)  as q; leading axes broadcast against q's
//   bias  broadcasts to (..., H, L, M), as q, optional: added
//   mask  broadcasts to (..., H, L, M), optional; as q: added after bias; bool: where false the score becomes `fill`
//   s     (..., H, L, M)  as q
struct Scores {
  double scale = 1;
  double cap = 0;
  double fill = 0;  // for a bool mask
  bool operator==(const Scores&) const = default;
  static constexpr auto fields() {
    return std::tuple{Field{"scale", &Scores::scale}, Field{"cap", &Scores::cap}, Field{"fill", &Scores::fill}};
  }
};

}  // namespace plica::ops
