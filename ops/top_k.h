#pragma once

#include <cstdint>
#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// The k largest (smallest) elements along `axis`, in order where `sorted`, and their indices; of equal ones the lower
// index first.
//   x        (..., N, ...)  any number type
//   values   (..., k, ...)  as x
//   indices  (..., k, ...)  i64
struct TopK {
  int64_t axis = 0;
  int64_t k = 0;
  bool largest = true;
  bool sorted = true;
  bool operator==(const TopK&) const = default;
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &TopK::axis}, Field{"k", &TopK::k}, Field{"largest", &TopK::largest},
                      Field{"sorted", &TopK::sorted}};
  }
};

}  // namespace plica::ops
