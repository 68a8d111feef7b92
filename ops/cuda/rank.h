#pragma once

#include "ops/op.h"

namespace plica::cuda {

constexpr int kAxes = 8;  // the largest rank that kernels take

// For `declines`: kernels hold no more than kAxes axes.
inline const char* over_rank(const Case& c) {
  for (const Operand& operand : c.out)
    if (operand.type->shape.size() > kAxes) return "the rank is over 8";
  for (const Operand& operand : c.in)
    if (operand.type != nullptr && operand.type->shape.size() > kAxes) return "the rank is over 8";
  return nullptr;
}
template <class Attrs>
const char* rank_over_8(const Attrs&, const Case& c) {
  return over_rank(c);
}

}  // namespace plica::cuda
