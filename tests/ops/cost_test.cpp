#include "ops/cost.h"

#include <gtest/gtest.h>

#include "ops/mat_mul.h"

namespace plica {
namespace {

TEST(Cost, CountsRepeatedElementsOnce) {
  const TensorType dense{DType::kF32, {4, 5}, {}}, repeated{DType::kF16, {4, 5}, {0, 1}}, y{DType::kI64, {4, 5}, {}};
  const Operand in[] = {{&dense, nullptr, 64}, {&repeated, nullptr, 2}, {}}, out[] = {{&y, nullptr, 64}};
  Case c;
  c.in = in;
  c.out = out;
  EXPECT_EQ(operand_bytes(c), 80 + 10 + 160);
  EXPECT_EQ(cost_per_element(c, 3).flops, 60);
}

TEST(Cost, OfAProductIsTwoAnInnerStep) {
  const TensorType a{DType::kF32, {2, 3, 4}, {}}, b{DType::kF32, {4, 5}, {}}, y{DType::kF32, {2, 3, 5}, {}};
  const Operand in[] = {{&a, nullptr, 64}, {&b, nullptr, 64}, {}, {}, {}}, out[] = {{&y, nullptr, 64}};
  Case c;
  c.in = in;
  c.out = out;
  const ops::MatMul op;
  const Cost cost = mat_mul_op.cost(&op, c);
  EXPECT_EQ(cost.flops, 2 * 2 * 3 * 4 * 5);
  EXPECT_EQ(cost.bytes, 4 * (24 + 20 + 30));
}

}  // namespace
}  // namespace plica
