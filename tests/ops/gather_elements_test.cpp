#include "ops/gather_elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable gather_elements_cases() {
  using ops::GatherElements;
  const auto indices = [](Shape shape, int64_t limit, Layout layout = Layout::kDense) {
    return OperandSpec{std::move(shape), layout, Fill::kIndices, DType::kI64, limit};
  };
  return {"GatherElements",
          {
              {"tiny", GatherElements{}, {{{1}}, indices({1}, 1)}, kSizes},
              {"rows", GatherElements{1}, {{{3, 5}}, indices({3, 7}, 5)}, kSizes},
              {"columns of a part", GatherElements{0}, {{{3, 5}}, indices({4, 2}, 3)}, kSizes},
              {"strided", GatherElements{1}, {{{3, 5}, Layout::kTransposed}, indices({3, 5}, 5, Layout::kTransposed)}},
              {"narrow indices",
               GatherElements{1},
               {{{3, 5}}, {.shape = {3, 2}, .fill = Fill::kIndices, .dtype = DType::kI32, .limit = 5}}},
              {"none", GatherElements{1}, {{{3, 5}}, indices({3, 0}, 5)}},
              {"production", GatherElements{1}, {{{64, 257}}, indices({64, 257}, 257)}},
          }};
}

namespace {

using ops::GatherElements;
using testing::ElementsAre;

TEST(GatherElements, TakesOneElementAnIndex) {
  const Tensor x = f32({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(evaluated("GatherElements", GatherElements{1}, {x, i64({2, 3}, {0, 0, -1, 1, 0, 0})}),
              ElementsAre(1, 1, 2, 4, 3, 3));
  EXPECT_THAT(evaluated("GatherElements", GatherElements{0}, {x, i64({1, 2}, {1, 0})}), ElementsAre(3, 2));
  EXPECT_EQ(refused("GatherElements", GatherElements{0}, {x, i64({1, 1}, {2})}),
            "invalid input: GatherElements: index 2, wanted one in [-2, 2)");
}

}  // namespace

}  // namespace plica
