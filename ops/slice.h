#pragma once

#include <tuple>
#include <vector>

#include "ops/attrs.h"

namespace plica::ops {

// A view: y[i] = x[start + i * step] for i < size, in each axis. Steps may be negative. Any dtype.
struct Slice {
  std::vector<int64_t> starts;
  std::vector<int64_t> sizes;
  std::vector<int64_t> steps;
  bool operator==(const Slice&) const = default;
  static constexpr auto fields() {
    return std::tuple{Field{"starts", &Slice::starts}, Field{"sizes", &Slice::sizes}, Field{"steps", &Slice::steps}};
  }
};

}  // namespace plica::ops
