#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

auto near(std::vector<double> wanted) { return Pointwise(DoubleNear(1e-4), wanted); }

OneOp batch_norm(int64_t training, size_t num_outputs = 1) {
  return OneOp("BatchNormalization", 15, num_outputs)
      .input<float>({2, 2}, {1, 2, 3, 6})
      .input<float>({2}, {1, 2})
      .input<float>({2}, {0, 1})
      .input<float>({2}, {1, 0})
      .input<float>({2}, {4, 1})
      .attr("training_mode", training);
}

TEST(OnnxNormalization, BatchNormalization) {
  EXPECT_THAT(first(batch_norm(0)).values, near({0, 5, 1, 13}));
  auto training = batch_norm(1, 3);
  const auto outputs = training.run();
  ASSERT_TRUE(outputs) << to_string(outputs.error());
  EXPECT_THAT(numbers((*outputs)[0]).values, near({-1, -1, 1, 3}));
  EXPECT_THAT(numbers((*outputs)[1]).values, near({1.1, 0.4}));
  EXPECT_THAT(numbers((*outputs)[2]).values, near({3.7, 1.3}));
}

TEST(OnnxNormalization, GroupsAndInstances) {
  EXPECT_THAT(
      first(OneOp("InstanceNormalization").counted({1, 2, 2}).input<float>({2}, {1, 2}).input<float>({2}, {0, 5}))
          .values,
      near({-1, 1, 3, 7}));
  // One group of both channels: a weight a group before version 21, a weight a channel from then on.
  EXPECT_THAT(first(OneOp("GroupNormalization", 18)
                        .input<float>({1, 2, 1}, {0, 2})
                        .input<float>({1}, {3})
                        .input<float>({1}, {1})
                        .attr("num_groups", int64_t{1}))
                  .values,
              near({-2, 4}));
  EXPECT_THAT(first(OneOp("GroupNormalization", 21)
                        .input<float>({1, 2, 1}, {0, 2})
                        .input<float>({2}, {3, 5})
                        .input<float>({2}, {1, 0})
                        .attr("num_groups", int64_t{1}))
                  .values,
              near({-2, 5}));
  EXPECT_THAT(
      error_of(
          OneOp("GroupNormalization", 21).counted({1, 3, 1}).counted({3}).counted({3}).attr("num_groups", int64_t{2})),
      HasSubstr("the input is 1x3x1, wanted channels in 2 groups"));
}

TEST(OnnxNormalization, ByNorm) {
  EXPECT_THAT(first(OneOp("LpNormalization").input<float>({2, 2}, {3, 4, 0, 0})).values, near({0.6, 0.8, 0, 0}));
  EXPECT_THAT(first(OneOp("LpNormalization").input<float>({2}, {-1, 3}).attr("p", int64_t{1})).values,
              near({-0.25, 0.75}));
}

TEST(OnnxNormalization, ByMoments) {
  EXPECT_THAT(
      first(OneOp("MeanVarianceNormalization").input<float>({2, 1}, {1, 3}).attr("axes", std::vector<int64_t>{0}))
          .values,
      near({-1, 1}));
}

TEST(OnnxNormalization, ByNeighbours) {
  EXPECT_THAT(first(OneOp("LRN")
                        .input<float>({1, 3, 1, 1}, {1, 2, 3})
                        .attr("size", int64_t{3})
                        .attr("alpha", 3.0f)
                        .attr("beta", 1.0f))
                  .values,
              near({1.0 / 6, 2.0 / 15, 3.0 / 14}));
}

}  // namespace
}  // namespace plica::onnx
