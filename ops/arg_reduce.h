#pragma once

#include <cstdint>
#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// y = index along `axis` of the largest (or smallest) element; the first of equal ones, or the last. NaN counts as the
// largest and smallest.
//   x  (...)  any but bool
//   y  (... without axis, or with size 1)  i64
struct ArgReduce {
  int64_t axis = 0;
  bool largest = true;
  bool keepdims = true;
  bool last = false;  // of equal elements
  bool operator==(const ArgReduce&) const = default;
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &ArgReduce::axis}, Field{"largest", &ArgReduce::largest},
                      Field{"keepdims", &ArgReduce::keepdims}, Field{"last", &ArgReduce::last}};
  }
};

}  // namespace plica::ops
