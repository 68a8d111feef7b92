#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::ElementsAre;
using Ints = std::vector<int64_t>;

TEST(OnnxPool, Largest) {
  const auto pool = [](size_t num_outputs = 1) {
    return OneOp("MaxPool", 12, num_outputs)
        .input<float>({1, 1, 5}, {-1, -5, -3, -2, -4})
        .attr("kernel_shape", Ints{2});
  };
  EXPECT_THAT(first(pool()).values, ElementsAre(-1, -3, -2, -2));
  EXPECT_THAT(first(pool().attr("strides", Ints{2}).attr("pads", Ints{1, 0})).values, ElementsAre(-1, -3, -2));
  EXPECT_THAT(first(pool().attr("strides", Ints{2}).attr("ceil_mode", int64_t{1})).values, ElementsAre(-1, -2, -4));
  auto both = pool(2);
  const auto outputs = both.run();
  ASSERT_TRUE(outputs) << to_string(outputs.error());
  EXPECT_THAT(numbers((*outputs)[1]).values, ElementsAre(0, 2, 3, 3));
}

TEST(OnnxPool, MeansCountPaddingWhereTheyShould) {
  const auto pool = [](int64_t with_padding) {
    return first(OneOp("AveragePool", 11)
                     .input<float>({1, 1, 3}, {2, 4, 6})
                     .attr("kernel_shape", Ints{2})
                     .attr("pads", Ints{1, 0})
                     .attr("count_include_pad", with_padding))
        .values;
  };
  EXPECT_THAT(pool(0), ElementsAre(2, 3, 5));
  EXPECT_THAT(pool(1), ElementsAre(1, 3, 5));
}

TEST(OnnxPool, Norms) {
  EXPECT_THAT(first(OneOp("LpPool", 11).input<float>({1, 1, 3}, {3, -4, 0}).attr("kernel_shape", Ints{2})).values,
              ElementsAre(5, 4));
}

TEST(OnnxPool, WholeAxes) {
  EXPECT_THAT(first(OneOp("GlobalAveragePool").counted({1, 2, 2})).values, ElementsAre(0.5, 2.5));
  EXPECT_THAT(first(OneOp("GlobalMaxPool").counted({1, 2, 2})).values, ElementsAre(1, 3));
  EXPECT_THAT(first(OneOp("GlobalLpPool").input<float>({1, 1, 2}, {3, 4})).values, ElementsAre(5));
}

TEST(OnnxPool, PutsBack) {
  const auto unpool = [] {
    return OneOp("MaxUnpool", 11)
        .input<float>({1, 1, 2}, {5, 6})
        .input<int64_t>({1, 1, 2}, {1, 2})
        .attr("kernel_shape", Ints{2})
        .attr("strides", Ints{2});
  };
  EXPECT_THAT(first(unpool()).values, ElementsAre(0, 5, 6, 0));
  EXPECT_THAT(first(unpool().ints({1, 1, 5})).values, ElementsAre(0, 5, 6, 0, 0));
}

}  // namespace
}  // namespace plica::onnx
