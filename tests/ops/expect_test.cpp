#include "ops/expect.h"

#include <gtest/gtest.h>

#include <string>

namespace plica {
namespace {

const TensorType kX{DType::kF32, {2, 1, 3}, {}};

std::string text(const Status& status) { return status ? "" : status.error().what(); }

TEST(Expect, PassesWhatFits) {
  EXPECT_TRUE(expect_float("x", kX));
  EXPECT_TRUE(expect_number("x", kX));
  EXPECT_TRUE(expect_rank("x", kX, 3));
  EXPECT_TRUE(expect_shape("x", kX, {2, 1, 3}));
  EXPECT_TRUE(expect_axis("x", 0, 1));
  EXPECT_TRUE(expect_broadcast("x", kX, {5, 2, 4, 3}));
  EXPECT_TRUE(expect_operand("x", nullptr, DType::kI8, {}));
}

TEST(Expect, NamesThePlaceTheFoundAndTheWanted) {
  EXPECT_EQ(text(expect_dtype("Op: x", kX, DType::kI8)), "Op: x is f32, wanted i8");
  EXPECT_EQ(text(expect_index("Op: x", kX)), "Op: x is f32, wanted i32 or i64");
  EXPECT_EQ(text(expect_rank("Op: x", kX, 4)), "Op: x is 2x1x3, wanted rank 4 or more");
  EXPECT_EQ(text(expect_axis("Op: axis", -1, 2)), "Op: axis is -1, wanted an axis in [0, 2)");
  EXPECT_EQ(text(expect_broadcast("Op: x", kX, {2, 4, 1})), "Op: x is 2x1x3, wanted a shape that broadcasts to 2x4x1");
  EXPECT_EQ(text(expect_broadcast("Op: x", kX, {1, 3})), "Op: x is 2x1x3, wanted a shape that broadcasts to 1x3");
}

}  // namespace
}  // namespace plica
