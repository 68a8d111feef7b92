#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

auto near(std::vector<double> wanted) { return Pointwise(DoubleNear(1e-5), wanted); }

OneOp scaled(float scale, const std::string& mode) {
  return OneOp("Resize", 13).counted({4}).absent().constant<float>({1}, {scale}).attr("mode", mode);
}

TEST(OnnxResize, NearestTakesElementsAsTheyAre) {
  EXPECT_THAT(first(scaled(2, "nearest")).values, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(first(scaled(0.5f, "nearest").attr("coordinate_transformation_mode", "asymmetric")).values,
              ElementsAre(0, 2));
  EXPECT_THAT(first(OneOp("Upsample", 9).counted({2}).constant<float>({1}, {2})).values, ElementsAre(0, 0, 1, 1));
}

TEST(OnnxResize, LinearInEachTransform) {
  EXPECT_THAT(first(scaled(2, "linear")).values, near({0, 0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3}));
  EXPECT_THAT(first(scaled(0.5f, "linear").attr("coordinate_transformation_mode", "align_corners")).values,
              near({0, 3}));
  EXPECT_THAT(first(scaled(0.5f, "linear").attr("antialias", int64_t{1})).values, near({0.625, 2.375}));
}

TEST(OnnxResize, CubicKeepsALine) {
  EXPECT_THAT(first(OneOp("Resize", 13)
                        .counted({8})
                        .absent()
                        .absent()
                        .ints({16})
                        .attr("mode", "cubic")
                        .attr("cubic_coeff_a", -0.5f))
                  .values[7],
              DoubleNear(3.25, 1e-5));
}

TEST(OnnxResize, SizesUnderAPolicy) {
  const auto resize = [] { return OneOp("Resize", 18).counted({2, 4}).absent().absent().ints({4, 4}); };
  EXPECT_THAT(first(resize()).shape, ElementsAre(4, 4));
  EXPECT_THAT(first(resize().attr("keep_aspect_ratio_policy", "not_larger")).shape, ElementsAre(2, 4));
  EXPECT_THAT(first(resize().attr("keep_aspect_ratio_policy", "not_smaller")).shape, ElementsAre(4, 8));
  EXPECT_THAT(error_of(OneOp("Resize", 18).counted({2, 4}).absent().absent().ints({4})),
              HasSubstr("sizes has 1 entries, wanted 2"));
}

TEST(OnnxResize, CropsAndExtrapolates) {
  EXPECT_THAT(first(OneOp("Resize", 13)
                        .counted({4})
                        .constant<float>({2}, {0, 2})
                        .absent()
                        .ints({3})
                        .attr("mode", "linear")
                        .attr("coordinate_transformation_mode", "tf_crop_and_resize")
                        .attr("extrapolation_value", 9.0f))
                  .values,
              near({0, 3, 9}));
}

}  // namespace
}  // namespace plica::onnx
