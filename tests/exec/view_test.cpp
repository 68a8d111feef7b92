#include "runtime/exec/view.h"

#include <gtest/gtest.h>

#include "ops/expand.h"
#include "ops/reshape.h"
#include "ops/slice.h"
#include "ops/transpose.h"

namespace plica {
namespace {

Place dense_place(Shape shape) { return {Place::Kind::kArena, 3, 128, nullptr, {DType::kF32, std::move(shape), {}}}; }

std::optional<Place> view(const OpDef& op, Attrs attrs, const Place& base) {
  return view_of({&op, std::move(attrs), {}, {}, ""}, base);
}

TEST(View, TransposePermutesStrides) {
  const auto place = view(transpose_op, ops::Transpose{{2, 0, 1}}, dense_place({2, 3, 5}));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->type.shape, (Shape{5, 2, 3}));
  EXPECT_EQ(place->type.strides, (Strides{1, 15, 5}));
  EXPECT_EQ(place->offset_bytes, 128);
  EXPECT_EQ(place->index, 3);
}

TEST(View, TransposeBackIsDense) {
  const auto there = view(transpose_op, ops::Transpose{{1, 0}}, dense_place({2, 3}));
  const auto back = view(transpose_op, ops::Transpose{{1, 0}}, *there);
  EXPECT_TRUE(back->type.strides.empty());
}

TEST(View, SliceMovesTheStartAndReversesWithNegativeSteps) {
  const auto place = view(slice_op, ops::Slice{{1, 4}, {1, 3}, {1, -2}}, dense_place({2, 5}));
  EXPECT_EQ(place->offset_bytes, 128 + (5 + 4) * 4);
  EXPECT_EQ(place->type.strides, (Strides{5, -2}));
}

TEST(View, EmptySliceStaysInside) {
  const auto place = view(slice_op, ops::Slice{{5}, {0}, {1}}, dense_place({5}));
  EXPECT_EQ(place->offset_bytes, 128);
  EXPECT_EQ(place->type.shape, (Shape{0}));
}

TEST(View, ExpandHasStrideZero) {
  const auto place = view(expand_op, ops::Expand{{4, 2, 3}}, dense_place({2, 1}));
  EXPECT_EQ(place->type.strides, (Strides{0, 1, 0}));
}

TEST(View, ReshapeSplitsAStridedAxisButCannotMergeTransposedOnes) {
  const auto heads = view(reshape_op, ops::Reshape{{2, 7, 4, 3}}, dense_place({2, 7, 12}));
  const auto by_head = view(transpose_op, ops::Transpose{{0, 2, 1, 3}}, *heads);
  EXPECT_EQ(by_head->type.strides, (Strides{84, 3, 12, 1}));
  EXPECT_TRUE(view(reshape_op, ops::Reshape{{1, 2, 4, 7, 3}}, *by_head));
  EXPECT_FALSE(view(reshape_op, ops::Reshape{{2, 4, 21}}, *by_head));
}

}  // namespace
}  // namespace plica
