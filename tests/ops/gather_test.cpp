#include "ops/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable gather_cases() {
  using ops::Gather;
  const auto indices = [](Shape shape, int64_t limit, Layout layout = Layout::kDense) {
    return OperandSpec{std::move(shape), layout, Fill::kIndices, DType::kI64, limit};
  };
  const OperandSpec narrow{.shape = {3}, .fill = Fill::kIndices, .dtype = DType::kI32, .limit = 5};
  return {"Gather",
          {
              {"tiny", Gather{}, {{{1}}, indices({1}, 1)}, kSizes},
              {"scalar index", Gather{1}, {{{3, 5, 2}}, indices({}, 5)}, kSizes},
              {"rows", Gather{0}, {{{7, 9}}, indices({2, 3}, 7)}, kSizes},
              {"middle axis", Gather{1}, {{{3, 5, 2}}, indices({4}, 5)}, kSizes},
              {"last axis", Gather{2}, {{{3, 2, 5}}, narrow}, kSizes},
              {"strided", Gather{1}, {{{3, 5, 2}, Layout::kTransposed}, indices({4, 3}, 5, Layout::kTransposed)}},
              {"backwards", Gather{0}, {{{5, 6}, Layout::kReversed}, indices({7}, 5, Layout::kReversed)}},
              {"no indices", Gather{0}, {{{5, 6}}, indices({0}, 5)}},
              {"empty rows", Gather{0}, {{{5, 0}}, indices({3}, 5)}},
              {"production", Gather{0}, {{.shape = {33, 1280}, .constant = true}, indices({2, 257}, 33)}},
          }};
}

namespace {

using ops::Gather;
using testing::ElementsAre;

TEST(Gather, TakesRowsAlongTheAxis) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(evaluated("Gather", Gather{0}, {x, i64({2}, {1, 0})}), ElementsAre(4, 5, 6, 1, 2, 3));
  EXPECT_THAT(evaluated("Gather", Gather{1}, {x, i64({}, {-1})}), ElementsAre(3, 6));
}

TEST(Gather, ReportsTheFirstIndexOutside) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(refused("Gather", Gather{1}, {x, i64({3}, {0, 3, -9})}),
            "invalid input: Gather: index 3, wanted one in [-3, 3)");
  EXPECT_EQ(refused("Gather", Gather{0}, {f32({0, 2}, {}), i64({1}, {0})}),
            "invalid input: Gather: index 0, wanted one in [-0, 0)");
  EXPECT_EQ(refused("Gather", Gather{0}, {x, f32({1}, {0})}),
            "invalid model: Gather: indices is f32, wanted i32 or i64");
}

}  // namespace

}  // namespace plica
