#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(OnnxScatter, Elements) {
  const auto scatter = [] {
    return OneOp("ScatterElements", 18).counted({5}).ints({1, -1}).input<float>({2}, {10, 20});
  };
  EXPECT_THAT(first(scatter()).values, ElementsAre(0, 10, 2, 3, 20));
  EXPECT_THAT(first(scatter().attr("reduction", "add")).values, ElementsAre(0, 11, 2, 3, 24));
  EXPECT_THAT(error_of(scatter().attr("reduction", "mean")), HasSubstr("'reduction' is 'mean', wanted none, add"));
}

TEST(OnnxScatter, Nd) {
  EXPECT_THAT(
      first(OneOp("ScatterND", 18).counted({2, 2}).constant<int64_t>({1, 1}, {1}).input<float>({1, 2}, {8, 9})).values,
      ElementsAre(0, 1, 8, 9));
}

TEST(OnnxScatter, IntoACache) {
  const auto write = [](const std::string& mode) {
    return first(OneOp("TensorScatter", 24)
                     .input<float>({2, 3, 1}, {0, 0, 0, 0, 0, 0})
                     .input<float>({2, 2, 1}, {1, 2, 3, 4})
                     .input<int64_t>({2}, {1, mode == "circular" ? 2 : 0})
                     .attr("mode", mode))
        .values;
  };
  EXPECT_THAT(write("linear"), ElementsAre(0, 1, 2, 3, 4, 0));
  EXPECT_THAT(write("circular"), ElementsAre(0, 1, 2, 4, 0, 3));
}

TEST(OnnxScatter, OneHot) {
  EXPECT_THAT(first(OneOp("OneHot").input<int64_t>({2}, {1, -1}).ints({3}).input<float>({2}, {0, 5})).values,
              ElementsAre(0, 5, 0, 0, 0, 5));
  EXPECT_THAT(
      first(OneOp("OneHot").input<int64_t>({2}, {1, 0}).ints({3}).input<float>({2}, {0, 1}).attr("axis", int64_t{0}))
          .shape,
      ElementsAre(3, 2));
}

TEST(OnnxScatter, TopK) {
  auto op = OneOp("TopK", 17, 2).input<float>({4}, {3, 1, 4, 2}).ints({2});
  const auto outputs = op.run();
  ASSERT_TRUE(outputs) << to_string(outputs.error());
  EXPECT_THAT(numbers((*outputs)[0]).values, ElementsAre(4, 3));
  EXPECT_THAT(numbers((*outputs)[1]).values, ElementsAre(2, 0));
  EXPECT_THAT(first(OneOp("TopK", 17, 2).counted({4}).ints({1}).attr("largest", int64_t{0})).values, ElementsAre(0));
  EXPECT_THAT(error_of(OneOp("TopK", 17, 2).counted({4}).ints({5})), HasSubstr("k is 5, but axis 0 has 4 elements"));
}

}  // namespace
}  // namespace plica::onnx
