#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(OnnxSlice, CutsAsNumPyDoes) {
  EXPECT_THAT(first(OneOp("Slice").counted({5}).ints({1}).ints({-1})).values, ElementsAre(1, 2, 3));
  EXPECT_THAT(first(OneOp("Slice").counted({5}).ints({-2}).ints({INT64_MAX})).values, ElementsAre(3, 4));
  EXPECT_THAT(first(OneOp("Slice").counted({5}).ints({3}).ints({1})).shape, ElementsAre(0));
  EXPECT_THAT(first(OneOp("Slice").counted({5}).ints({9}).ints({12})).shape, ElementsAre(0));
  EXPECT_THAT(first(OneOp("Slice").counted({5}).ints({0}).ints({5}).ints({0}).ints({2})).values, ElementsAre(0, 2, 4));
}

TEST(OnnxSlice, StepsBackwards) {
  EXPECT_THAT(first(OneOp("Slice").counted({4}).ints({-1}).ints({INT64_MIN}).ints({0}).ints({-1})).values,
              ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(first(OneOp("Slice").counted({4}).ints({9}).ints({0}).ints({0}).ints({-2})).values, ElementsAre(3, 1));
  EXPECT_THAT(first(OneOp("Slice").counted({4}).ints({INT64_MAX}).ints({INT64_MIN}).ints({0}).ints({INT64_MIN})).values,
              ElementsAre(3));
  EXPECT_THAT(error_of(OneOp("Slice").counted({4}).ints({0}).ints({4}).ints({0}).ints({0})), HasSubstr("step is 0"));
}

TEST(OnnxSlice, AttributesBeforeVersionTen) {
  EXPECT_THAT(first(OneOp("Slice", 9)
                        .counted({2, 3})
                        .attr("starts", std::vector<int64_t>{1})
                        .attr("ends", std::vector<int64_t>{3})
                        .attr("axes", std::vector<int64_t>{1}))
                  .values,
              ElementsAre(1, 2, 4, 5));
}

TEST(OnnxSlice, SplitsEvenlyOrAsGiven) {
  const auto thirds = OneOp("Split", 18, 3).counted({7}).attr("num_outputs", int64_t{3}).run();
  ASSERT_TRUE(thirds) << to_string(thirds.error());
  EXPECT_THAT(numbers((*thirds)[1]).values, ElementsAre(3, 4, 5));
  EXPECT_THAT(numbers((*thirds)[2]).values, ElementsAre(6));
  const auto given = OneOp("Split", 13, 2).counted({3}).ints({1, 2}).run();
  ASSERT_TRUE(given) << to_string(given.error());
  EXPECT_THAT(numbers((*given)[1]).values, ElementsAre(1, 2));
  EXPECT_THAT(error_of(OneOp("Split", 13, 2).counted({4}).ints({1, 2})), HasSubstr("add up to 3"));
}

TEST(OnnxSlice, PadsByAttributesAndOperands) {
  EXPECT_THAT(first(OneOp("Pad", 10).counted({2}).attr("pads", std::vector<int64_t>{1, 0}).attr("value", 9.0f)).values,
              ElementsAre(9, 0, 1));
  EXPECT_THAT(first(OneOp("Pad").counted({1, 2}).ints({0, 1, 0, 1})).values, ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(first(OneOp("Pad", 18).counted({1, 2}).ints({0, 1}).constant<float>({}, {7}).ints({-1})).values,
              ElementsAre(0, 1, 7));
  EXPECT_THAT(error_of(OneOp("Pad").counted({2}).ints({0, 0}).attr("mode", std::string("mirror"))),
              HasSubstr("'mirror', wanted"));
}

TEST(OnnxSlice, TriluKeepsOneSide) {
  EXPECT_THAT(first(OneOp("Trilu").counted({2, 2}).attr("upper", int64_t{0})).values, ElementsAre(0, 0, 2, 3));
  EXPECT_THAT(first(OneOp("Trilu").counted({2, 2}).constant<int64_t>({}, {1})).values, ElementsAre(0, 1, 0, 0));
}

}  // namespace
}  // namespace plica::onnx
