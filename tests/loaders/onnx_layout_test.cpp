#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(OnnxLayout, ShapeTakesARange) {
  EXPECT_THAT(first(OneOp("Shape", 13).counted({2, 3, 4})).values, ElementsAre(2, 3, 4));
  EXPECT_THAT(first(OneOp("Shape", 15).counted({2, 3, 4}).attr("start", -2).attr("end", int64_t{99})).values,
              ElementsAre(3, 4));
  EXPECT_THAT(first(OneOp("Size").counted({2, 3, 4})).values, ElementsAre(24));
}

TEST(OnnxLayout, ReshapeCopiesAndInfersSizes) {
  EXPECT_THAT(first(OneOp("Reshape").counted({2, 3, 4}).ints({0, -1})).shape, ElementsAre(2, 12));
  EXPECT_THAT(first(OneOp("Reshape").counted({2, 3, 4}).ints({4, 0, -1})).shape, ElementsAre(4, 3, 2));
  EXPECT_THAT(first(OneOp("Reshape").counted({0, 3}).ints({3, 0}).attr("allowzero", 1)).shape, ElementsAre(3, 0));
  EXPECT_THAT(first(OneOp("Reshape").counted({0, 3}).ints({0, -1})).shape, ElementsAre(0, 0));
}

TEST(OnnxLayout, ReshapeByAnInputAsksForItsValue) {
  EXPECT_THAT(first(OneOp("Reshape").counted({2, 3}).input<int64_t>({2}, {3, 2})).shape, ElementsAre(3, 2));
}

TEST(OnnxLayout, ReshapeToFrozenSizesSaysSo) {
  const std::string error = error_of(OneOp("Reshape").counted({2, 30, 4}).ints({2, 26, 4}));
  EXPECT_THAT(error, HasSubstr("the_node"));
  EXPECT_THAT(error, HasSubstr("2x30x4"));
  EXPECT_THAT(error, HasSubstr("export from a fresh model"));
}

TEST(OnnxLayout, FlattenSqueezeUnsqueeze) {
  EXPECT_THAT(first(OneOp("Flatten").counted({2, 3, 4}).attr("axis", 0)).shape, ElementsAre(1, 24));
  EXPECT_THAT(first(OneOp("Flatten").counted({2, 3, 4}).attr("axis", -1)).shape, ElementsAre(6, 4));
  EXPECT_THAT(first(OneOp("Squeeze").counted({1, 3, 1})).shape, ElementsAre(3));
  EXPECT_THAT(first(OneOp("Squeeze").counted({1, 3, 1}).ints({-1})).shape, ElementsAre(1, 3));
  EXPECT_THAT(first(OneOp("Squeeze", 11).counted({1, 3, 1}).attr("axes", std::vector<int64_t>{0})).shape,
              ElementsAre(3, 1));
  EXPECT_THAT(first(OneOp("Unsqueeze").counted({3}).ints({0, -1})).shape, ElementsAre(1, 3, 1));
  EXPECT_THAT(first(OneOp("Unsqueeze", 11).counted({3}).attr("axes", std::vector<int64_t>{1})).shape,
              ElementsAre(3, 1));
  EXPECT_THAT(error_of(OneOp("Squeeze").counted({2, 3}).ints({0})), HasSubstr("axis 0 of 2x3"));
  EXPECT_THAT(error_of(OneOp("Unsqueeze").counted({3}).ints({0, 0})), HasSubstr("named twice"));
}

TEST(OnnxLayout, TransposeReversesByDefault) {
  EXPECT_THAT(first(OneOp("Transpose").counted({2, 3})).values, ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(first(OneOp("Transpose").counted({1, 2, 3}).attr("perm", std::vector<int64_t>{1, 2, 0})).shape,
              ElementsAre(2, 3, 1));
  EXPECT_THAT(error_of(OneOp("Transpose").counted({2, 3}).attr("perm", std::vector<int64_t>{0, 0})),
              HasSubstr("permutation of 2 axes"));
}

TEST(OnnxLayout, ExpandTileConcat) {
  EXPECT_THAT(first(OneOp("Expand").counted({2, 1}).ints({3, 1, 2})).shape, ElementsAre(3, 2, 2));
  EXPECT_THAT(first(OneOp("Tile").counted({1, 2}).ints({2, 2})).values, ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  EXPECT_THAT(first(OneOp("Tile").counted({2}).ints({0})).shape, ElementsAre(0));
  EXPECT_THAT(first(OneOp("Concat").counted({1, 2}).counted({1, 1}).attr("axis", -1)).values, ElementsAre(0, 1, 0));
  EXPECT_THAT(first(OneOp("Concat").counted({0}).counted({2}).attr("axis", 0)).values, ElementsAre(0, 1));
}

}  // namespace
}  // namespace plica::onnx
