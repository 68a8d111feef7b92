#include "ops/one_hot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable one_hot_cases() {
  using ops::OneHot;
  const auto indices = [](Shape shape, DType dtype, Layout layout = Layout::kDense) {
    return OperandSpec{std::move(shape), layout, Fill::kIndices, dtype, 5};
  };
  return {"OneHot",
          {
              {"tiny", OneHot{0, 1}, {indices({1}, DType::kI64), {{2}}}, kSizes},
              {"last axis", OneHot{2, 5}, {indices({3, 4}, DType::kI64), {{2}}}, kSizes},
              {"first axis", OneHot{0, 3}, {indices({3, 4}, DType::kI32), {{2}}}, kSizes},
              {"floats for indices", OneHot{1, 4}, {indices({3, 4}, DType::kF64), {{2}}}},
              {"strided", OneHot{1, 5}, {indices({3, 4}, DType::kI64, Layout::kTransposed), {{2}, Layout::kReversed}}},
              {"no depth", OneHot{1, 0}, {indices({3}, DType::kI64), {{2}}}},
              {"none", OneHot{1, 3}, {indices({0}, DType::kI64), {{2}}}},
              {"production", OneHot{2, 33}, {indices({2, 257}, DType::kI64), {{2}}}},
          }};
}

namespace {

using ops::OneHot;
using testing::ElementsAre;

TEST(OneHot, SetsTheClassOfEachIndex) {
  const Tensor values = f32({2}, {5, 9});
  EXPECT_THAT(evaluated("OneHot", OneHot{1, 3}, {i64({2}, {1, -1}), values}), ElementsAre(5, 9, 5, 5, 5, 9));
  EXPECT_THAT(evaluated("OneHot", OneHot{0, 2}, {f32({2}, {1, 0}), values}), ElementsAre(5, 9, 9, 5));
}

TEST(OneHot, GivesNoClassOutside) {
  EXPECT_THAT(evaluated("OneHot", OneHot{0, 2}, {i64({3}, {2, -3, 0}), f32({2}, {0, 1})}),
              ElementsAre(0, 0, 1, 0, 0, 0));
  EXPECT_THAT(evaluated("OneHot", OneHot{0, 1}, {tensor_of(DType::kU64, {1}, {1e19}), f32({2}, {0, 1})}),
              ElementsAre(0));
}

}  // namespace

}  // namespace plica
