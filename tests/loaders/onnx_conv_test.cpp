#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Ints = std::vector<int64_t>;

TEST(OnnxConv, OneAxis) {
  const auto conv = [] { return OneOp("Conv").counted({1, 1, 4}).input<float>({1, 1, 3}, {1, 10, 100}); };
  EXPECT_THAT(first(conv()).values, ElementsAre(210, 321));
  EXPECT_THAT(first(conv().attr("pads", Ints{1, 1})).values, ElementsAre(100, 210, 321, 32));
  EXPECT_THAT(first(conv().attr("auto_pad", "SAME_UPPER").attr("strides", Ints{2})).values, ElementsAre(210, 32));
  EXPECT_THAT(first(conv().attr("auto_pad", "SAME_LOWER").attr("strides", Ints{2})).values, ElementsAre(100, 321));
  EXPECT_THAT(first(conv().attr("dilations", Ints{2}).attr("pads", Ints{1, 1})).values, ElementsAre(310, 20));
}

TEST(OnnxConv, GroupsAndBias) {
  EXPECT_THAT(first(OneOp("Conv")
                        .input<float>({1, 2, 2}, {1, 2, 3, 4})
                        .input<float>({2, 1, 1}, {10, 100})
                        .input<float>({2}, {1, 2})
                        .attr("group", int64_t{2}))
                  .values,
              ElementsAre(11, 21, 302, 402));
  EXPECT_THAT(error_of(OneOp("Conv").counted({1, 2, 2}).counted({3, 1, 1}).attr("group", int64_t{2})),
              HasSubstr("the input is 1x2x2, the weight 3x1x1 in 2 groups"));
  EXPECT_THAT(error_of(OneOp("Conv").counted({1, 2}).counted({3, 1, 1})),
              HasSubstr("wanted a kernel size for each axis"));
}

TEST(OnnxConv, TwoAxes) {
  EXPECT_THAT(first(OneOp("Conv").counted({1, 1, 2, 3}).input<float>({1, 1, 2, 2}, {1, 2, 3, 4})).values,
              ElementsAre(27, 37));
}

TEST(OnnxConv, Transposed) {
  const auto conv = [] {
    return OneOp("ConvTranspose").input<float>({1, 1, 2}, {1, 2}).input<float>({1, 1, 3}, {1, 10, 100});
  };
  EXPECT_THAT(first(conv()).values, ElementsAre(1, 12, 120, 200));
  EXPECT_THAT(first(conv().attr("strides", Ints{2})).values, ElementsAre(1, 10, 102, 20, 200));
  EXPECT_THAT(first(conv().attr("strides", Ints{2}).attr("pads", Ints{1, 1})).values, ElementsAre(10, 102, 20));
  EXPECT_THAT(first(conv().attr("strides", Ints{2}).attr("output_padding", Ints{1})).values,
              ElementsAre(1, 10, 102, 20, 200, 0));
  EXPECT_THAT(first(conv().attr("strides", Ints{2}).attr("output_shape", Ints{6})).values,
              ElementsAre(1, 10, 102, 20, 200, 0));
}

}  // namespace
}  // namespace plica::onnx
