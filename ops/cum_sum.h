#pragma once

#include <cstdint>
#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// y[..., i, ...] = sum of x[..., j, ...] over j <= i (j < i where exclusive; j >= i where reverse) along `axis`.
// Accumulates in f64 or i64.
//   x, y  (...)  f32 f64 f16 bf16 i32 i64 u32 u64
struct CumSum {
  int64_t axis = 0;
  bool exclusive = false;
  bool reverse = false;
  bool operator==(const CumSum&) const = default;
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &CumSum::axis}, Field{"exclusive", &CumSum::exclusive},
                      Field{"reverse", &CumSum::reverse}};
  }
};

}  // namespace plica::ops
