#pragma once

#include <array>
#include <string_view>
#include <tuple>
#include <vector>

#include "ops/attrs.h"

namespace plica::ops {

enum class ReduceKind : uint8_t { kSum, kMean, kMax, kMin, kProd };
constexpr std::array<std::string_view, 5> names_of(ReduceKind) { return {"sum", "mean", "max", "min", "prod"}; }

// y = x reduced over `axes` (sorted, not negative; empty: y = x). Floats accumulate in f32 at least, integers in i64; an empty
// range gives 0, 1 or the smallest and largest value of the type. kMean divides by the count. Integers wrap.
//   x  (...)  any number type; bool for kMin and kMax
//   y  (... with 1 at the axes; without them where not keepdims)  as x
struct Reduce {
  ReduceKind kind = ReduceKind::kSum;
  std::vector<int64_t> axes;
  bool keepdims = true;
  bool operator==(const Reduce&) const = default;
  static constexpr auto fields() {
    return std::tuple{Field{"kind", &Reduce::kind}, Field{"axes", &Reduce::axes}, Field{"keepdims", &Reduce::keepdims}};
  }
};

}  // namespace plica::ops
