#include "ops/trilu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable trilu_cases() {
  using ops::Trilu;
  return {"Trilu",
          {
              {"tiny", Trilu{}, {{{1, 1}}}, kSizes},
              {"upper", Trilu{.k = 1}, {{{2, 5, 7}}}, kSizes},
              {"lower", Trilu{.upper = false, .k = -1}, {{{2, 5, 7}}}, kSizes},
              {"bool", Trilu{}, {{{4, 4}}}, {DType::kBool}},
              {"strided", Trilu{}, {{{5, 7}, Layout::kTransposed}}},
              {"far away", Trilu{.k = 100}, {{{5, 7}}}},
              {"empty", Trilu{}, {{{0, 7}}}},
              {"production", Trilu{.upper = false}, {{{1, 257, 257}}}},
          }};
}

namespace {

using ops::Trilu;
using testing::ElementsAre;

TEST(Trilu, KeepsOneSideOfADiagonal) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(evaluated("Trilu", Trilu{}, {x}), ElementsAre(1, 2, 3, 0, 5, 6));
  EXPECT_THAT(evaluated("Trilu", Trilu{.k = 1}, {x}), ElementsAre(0, 2, 3, 0, 0, 6));
  EXPECT_THAT(evaluated("Trilu", Trilu{.upper = false}, {x}), ElementsAre(1, 0, 0, 4, 5, 0));
}

}  // namespace

}  // namespace plica
