#pragma once

#include <cstdint>
#include <tuple>

#include "ops/attrs.h"

namespace plica::ops {

// y = on_value where the class along the new `axis` equals indices, off_value elsewhere. Indices in [-depth, depth);
// others give no class.
//   indices  (...)       any number type
//   values   (2)         off_value, on_value; any
//   y        (... with `depth` inserted at axis)  as values
struct OneHot {
  int64_t axis = 0;  // in [0, rank of indices]
  int64_t depth = 0;
  bool operator==(const OneHot&) const = default;
  static constexpr auto fields() { return std::tuple{Field{"axis", &OneHot::axis}, Field{"depth", &OneHot::depth}}; }
};

}  // namespace plica::ops
