#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

enum class ZeroRows : uint8_t { kNone, kMasked, kUndefined };  // rows of weights whose scores are all -inf; all of NaN
constexpr std::array<std::string_view, 3> names_of(ZeroRows) { return {"none", "masked", "undefined"}; }

// y = softmax(scale * (q @ k^T) + bias, masked) @ v * sigmoid(gate), softmax over M in fp32, the scores never in memory
// as a whole (online softmax: Milakov and Gimelshein 2018; Dao and others 2022). A row whose keys are all masked gives
// what the arithmetic gives: NaN for fill = -inf, the mean of v for a finite fill. So does a row with a score that is NaN or
// +inf: all its weights are NaN. `zero_rows` makes such weights zeros; beside a value that is not finite their product is NaN.
//   q     (..., H, L, D)  f32 | f64 | f16 | bf16, rank 2 or more, any strides (the head axis is just a leading axis)
//   k     (..., H, M, D)  as q; leading axes broadcast against q's
//   v     (..., H, M, E)  as q
//   bias  broadcasts to (..., H, L, M), as q, optional: added
//   mask  broadcasts to (..., H, L, M), optional; as q: added after bias; bool: where false the score becomes `fill`
//   gate  broadcasts to (..., H, L, E), as q, optional: its sigmoid multiplies y
//   segments (G + 1)      i64, optional: row offsets of packed sequences along L = M; rows attend within their own segment
//   y     (..., H, L, E)  as q
struct Attention {
  double scale = 1;
  double fill = 0;  // for a bool mask
  ZeroRows zero_rows = ZeroRows::kNone;
  bool causal = false;  // row l sees keys m <= l
  bool operator==(const Attention&) const = default;
  static constexpr auto fields() {
    return std::tuple{Field{"scale", &Attention::scale}, Field{"fill", &Attention::fill},
                      Field{"zero_rows", &Attention::zero_rows}, Field{"causal", &Attention::causal}};
  }
};

}  // namespace plica::ops
