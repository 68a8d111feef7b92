#include "runtime/core/shape.h"

#include <gtest/gtest.h>

namespace plica {
namespace {

TEST(Shape, BroadcastFollowsNumPy) {
  EXPECT_EQ(*broadcast({2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(*broadcast({}, {5}), (Shape{5}));
  EXPECT_EQ(*broadcast({0}, {1}), (Shape{0}));
  auto bad = broadcast({2, 3}, {4, 3});
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().what().find("2x3 and 4x3"), std::string::npos);
}

TEST(Shape, BroadcastStridesAreZeroWhereRepeated) {
  EXPECT_EQ(broadcast_strides({DType::kF32, {3, 1}, {}}, {2, 3, 4}), (Strides{0, 1, 0}));
}

TEST(Shape, ReshapeOfAViewKeepsItsMemoryWhereItCan) {
  const TensorType heads{DType::kF32, {2, 3, 5, 4}, {60, 4, 12, 1}};  // (B, H, L, D) read from (B, L, H, D)
  EXPECT_EQ(reshape_strides(heads, {2, 3, 5, 2, 2}), (Strides{60, 4, 12, 2, 1}));
  EXPECT_EQ(reshape_strides(heads, {2, 3, 20}), std::nullopt);
  EXPECT_EQ(reshape_strides({DType::kF32, {2, 1, 3}, {3, 7, 1}}, {6}), (Strides{1}));
}

TEST(Shape, DenseIgnoresStridesOfSizeOne) {
  EXPECT_TRUE(is_dense({DType::kF32, {1, 4}, {99, 1}}));
  EXPECT_FALSE(is_dense({DType::kF32, {2, 4}, {5, 1}}));
}

}  // namespace
}  // namespace plica
