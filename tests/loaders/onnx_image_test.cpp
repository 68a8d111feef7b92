#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using Ints = std::vector<int64_t>;

auto near(std::vector<double> wanted) { return Pointwise(DoubleNear(1e-5), wanted); }

TEST(OnnxImage, DepthAndSpace) {
  const auto depth = [] { return OneOp("DepthToSpace", 13).counted({1, 8, 1, 1}).attr("blocksize", int64_t{2}); };
  EXPECT_THAT(first(depth()).values, ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_THAT(first(depth().attr("mode", "CRD")).values, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(first(OneOp("SpaceToDepth", 13).counted({1, 1, 2, 2}).attr("blocksize", int64_t{2})).shape,
              ElementsAre(1, 4, 1, 1));
  EXPECT_THAT(error_of(OneOp("SpaceToDepth", 13).counted({1, 1, 3, 2}).attr("blocksize", int64_t{2})),
              HasSubstr("no multiple of blocks of 2"));
}

TEST(OnnxImage, CropsAndPadsAroundTheMiddle) {
  EXPECT_THAT(first(OneOp("CenterCropPad", 18).input<float>({2, 3}, {1, 2, 3, 4, 5, 6}).ints({3, 1})).values,
              ElementsAre(2, 5, 0));
  EXPECT_THAT(first(OneOp("CenterCropPad", 18).counted({2, 4}).ints({1}).attr("axes", Ints{-1})).values,
              ElementsAre(1, 5));
}

TEST(OnnxImage, AffineGrid) {
  const auto grid = [](int64_t align_corners) {
    return first(OneOp("AffineGrid", 20)
                     .input<float>({1, 2, 3}, {1, 0, 0, 0, 1, 0.5f})
                     .ints({1, 1, 1, 2})
                     .attr("align_corners", align_corners))
        .values;
  };
  EXPECT_THAT(grid(0), near({-0.5, 0.5, 0.5, 0.5}));
}

TEST(OnnxImage, ColumnsAddUpToAnImage) {
  EXPECT_THAT(first(OneOp("Col2Im", 18).input<float>({1, 2, 2}, {1, 2, 10, 20}).ints({3}).ints({2})).values,
              ElementsAre(1, 12, 20));
  EXPECT_THAT(
      first(OneOp("Col2Im", 18).input<float>({1, 2, 2}, {1, 2, 10, 20}).ints({1}).ints({2}).attr("pads", Ints{1, 1}))
          .values,
      ElementsAre(12));
  EXPECT_THAT(error_of(OneOp("Col2Im", 18).counted({1, 2, 3}).ints({3}).ints({2})), HasSubstr("wanted 2 blocks of 2"));
}

}  // namespace
}  // namespace plica::onnx
