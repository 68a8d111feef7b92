#include "ops/view.h"

#include <gtest/gtest.h>

#include "ops/expand.h"
#include "ops/reshape.h"
#include "ops/slice.h"
#include "ops/transpose.h"
#include "tests/harness/evaluated.h"

namespace plica {
namespace {

const TensorType kX{DType::kF32, {2, 3}, {}};

TEST(View, IsDenseAgainWhereItsStridesSayNothing) {
  const auto there = view_through(transpose_op, ops::Transpose{{1, 0}}, kX);
  EXPECT_EQ(there->type.strides, (Strides{1, 3}));
  EXPECT_TRUE(view_through(transpose_op, ops::Transpose{{1, 0}}, there->type)->type.strides.empty());
  EXPECT_FALSE(view_through(reshape_op, ops::Reshape{{6}}, there->type));
}

TEST(View, SliceMovesTheFirstElement) {
  const auto view = view_through(slice_op, ops::Slice{{1, 2}, {1, 2}, {1, -2}}, kX);
  EXPECT_EQ(view->offset, 5);
  EXPECT_EQ(view->type.strides, (Strides{3, -2}));
  EXPECT_EQ(view_through(slice_op, ops::Slice{{2, 0}, {0, 3}, {1, 1}}, kX)->offset, 0);  // empty: stays inside
}

TEST(View, ExpandRepeats) {
  EXPECT_EQ(view_through(expand_op, ops::Expand{{4, 2, 3}}, kX)->type.strides, (Strides{0, 3, 1}));
}

TEST(View, TypesAreChecked) {
  EXPECT_EQ(inferred("Reshape", ops::Reshape{{4}}, {kX}),
            "invalid model: Reshape: x is 2x3, wanted as many elements as 4");
  EXPECT_EQ(inferred("Reshape", ops::Reshape{{-1, 6}}, {kX}), "invalid model: Reshape: size -1, wanted 0 or more");
  EXPECT_EQ(inferred("Transpose", ops::Transpose{{1, 1}}, {kX}),
            "invalid model: Transpose: perm is [1,1], wanted an order of the axes of 2x3");
  EXPECT_EQ(inferred("Slice", ops::Slice{{0, 0}, {2, 4}, {1, 1}}, {kX}),
            "invalid model: Slice: axis 1 from 0 to 3, wanted within its size 3");
  EXPECT_EQ(inferred("Expand", ops::Expand{{1, 3}}, {kX}),
            "invalid model: Expand: x is 2x3, wanted one that broadcasts to 1x3");
}

}  // namespace
}  // namespace plica
