#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::ElementsAre;

TEST(OnnxSelect, NonZeroHangsOnTheValue) {
  const auto found = first(OneOp("NonZero").input<float>({2, 2}, {0, 1, 2, 0}));
  EXPECT_THAT(found.shape, ElementsAre(2, 2));
  EXPECT_THAT(found.values, ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(first(OneOp("NonZero").input<float>({2}, {0, 0})).shape, ElementsAre(1, 0));
}

TEST(OnnxSelect, Compress) {
  EXPECT_THAT(first(OneOp("Compress").counted({2, 2}).input<uint8_t>({3}, {0, 1, 1})).values, ElementsAre(1, 2));
  EXPECT_THAT(first(OneOp("Compress").counted({2, 2}).input<uint8_t>({2}, {0, 1}).attr("axis", int64_t{0})).values,
              ElementsAre(2, 3));
}

TEST(OnnxSelect, ReverseSequence) {
  EXPECT_THAT(first(OneOp("ReverseSequence")
                        .counted({2, 3})
                        .input<int64_t>({2}, {2, 3})
                        .attr("batch_axis", int64_t{0})
                        .attr("time_axis", int64_t{1}))
                  .values,
              ElementsAre(1, 0, 2, 5, 4, 3));
}

TEST(OnnxSelect, OperatorsOfTheMlDomain) {
  OneOp extractor("ArrayFeatureExtractor");
  extractor.node().set_domain("ai.onnx.ml");
  EXPECT_THAT(first(extractor.counted({2, 3}).ints({2, 0})).values, ElementsAre(2, 0, 5, 3));
  OneOp binarizer("Binarizer");
  binarizer.node().set_domain("ai.onnx.ml");
  EXPECT_THAT(first(binarizer.counted({4}).attr("threshold", 1.5f)).values, ElementsAre(0, 0, 1, 1));
}

}  // namespace
}  // namespace plica::onnx
