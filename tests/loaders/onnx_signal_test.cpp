#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

auto near(std::vector<double> wanted) { return Pointwise(DoubleNear(1e-5), wanted); }

TEST(OnnxSignal, TransformsAndTransformsBack) {
  EXPECT_THAT(first(OneOp("DFT", 20).input<float>({1, 4, 1}, {1, 2, 3, 4})).values,
              near({10, 0, -2, 2, -2, 0, -2, -2}));
  EXPECT_THAT(first(OneOp("DFT", 20).input<float>({1, 4, 1}, {1, 2, 3, 4}).attr("onesided", int64_t{1})).values,
              near({10, 0, -2, 2, -2, 0}));
  EXPECT_THAT(
      first(OneOp("DFT", 20).input<float>({1, 4, 2}, {10, 0, -2, 2, -2, 0, -2, -2}).attr("inverse", int64_t{1})).values,
      near({1, 0, 2, 0, 3, 0, 4, 0}));
  EXPECT_THAT(first(OneOp("DFT", 20)
                        .input<float>({1, 3, 2}, {10, 0, -2, 2, -2, 0})
                        .attr("inverse", int64_t{1})
                        .attr("onesided", int64_t{1}))
                  .values,
              near({1, 2, 3, 4}));
}

TEST(OnnxSignal, AnotherAxisAndLength) {
  EXPECT_THAT(first(OneOp("DFT", 17).input<float>({2, 1, 1}, {1, 5}).attr("axis", int64_t{0})).values,
              near({6, 0, -4, 0}));
  EXPECT_THAT(first(OneOp("DFT", 20).input<float>({1, 3, 1}, {1, 5, 9}).ints({2})).shape, ElementsAre(1, 2, 2));
}

TEST(OnnxSignal, Frames) {
  const auto frames = first(OneOp("STFT").input<float>({1, 4, 1}, {1, 2, 3, 4}).ints({2}).input<float>({2}, {1, 0.5f}));
  EXPECT_THAT(frames.shape, ElementsAre(1, 2, 2, 2));
  EXPECT_THAT(frames.values, near({2, 0, 0, 0, 5, 0, 1, 0}));
}

TEST(OnnxSignal, Windows) {
  EXPECT_THAT(first(OneOp("HannWindow").ints({4})).values, near({0, 0.5, 1, 0.5}));
  EXPECT_THAT(first(OneOp("HannWindow").ints({3}).attr("periodic", int64_t{0})).values, near({0, 1, 0}));
  EXPECT_THAT(first(OneOp("BlackmanWindow").ints({2})).values, near({0, 1}));
  EXPECT_THAT(first(OneOp("HammingWindow").ints({2})).values, near({4.0 / 46, 1}));
}

TEST(OnnxSignal, MelTriangles) {
  auto op =
      OneOp("MelWeightMatrix").ints({2}).ints({16}).ints({8192}).constant<float>({1}, {0}).constant<float>({1}, {4096});
  const auto matrix = first(op);
  EXPECT_THAT(matrix.shape, ElementsAre(9, 2));
  // The first triangle falls from bin 0 to bin 2.
  EXPECT_DOUBLE_EQ(matrix.values[0], 1);
  EXPECT_DOUBLE_EQ(matrix.values[2], 0.5);
}

}  // namespace
}  // namespace plica::onnx
