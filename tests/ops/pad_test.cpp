#include "ops/pad.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable pad_cases() {
  using ops::Pad;
  using ops::PadMode;
  std::vector<OpCase> cases = {
      {"tiny", Pad{{1}, {1}}, {{{1}}}, kSizes},
      {"value", Pad{{0, 2, 1}, {1, 0, 3}}, {{{2, 3, 5}}, {{}}}, kSizes},
      {"bool", Pad{{1}, {2}}, {{{3}}}, {DType::kBool}},
      {"cut", Pad{{-1, 2}, {0, -3}}, {{{3, 5}}}, kSizes},
      {"from nothing", Pad{{0, 1}, {0, 1}}, {{{2, 0}}}},
      {"to nothing", Pad{{0, -2}, {0, -1}}, {{{2, 3}}}},
      {"production", Pad{{0, 1, 0}, {0, 1, 0}}, {{{1, 257, 320}}}},
  };
  for (PadMode mode : {PadMode::kReflect, PadMode::kEdge, PadMode::kWrap})
    cases.push_back({std::string(names_of(mode)[static_cast<size_t>(mode)]),
                     Pad{{2, 3, 1}, {1, 4, 0}, mode},
                     {{{3, 5, 2}, Layout::kTransposed}},
                     kSizes});
  return {"Pad", std::move(cases)};
}

namespace {

using ops::Pad;
using ops::PadMode;
using testing::ElementsAre;

TEST(Pad, AddsAtBothEnds) {
  const Tensor x = f32({3}, {1, 2, 3});
  EXPECT_THAT(evaluated("Pad", Pad{{1}, {2}}, {x, f32({}, {9})}), ElementsAre(9, 1, 2, 3, 9, 9));
  EXPECT_THAT(evaluated("Pad", Pad{{-1}, {1}}, {x}), ElementsAre(2, 3, 0));
  EXPECT_THAT(evaluated("Pad", Pad{{3}, {5}, PadMode::kReflect}, {x}), ElementsAre(2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2));
  EXPECT_THAT(evaluated("Pad", Pad{{2}, {1}, PadMode::kEdge}, {x}), ElementsAre(1, 1, 1, 2, 3, 3));
  EXPECT_THAT(evaluated("Pad", Pad{{2}, {4}, PadMode::kWrap}, {x}), ElementsAre(2, 3, 1, 2, 3, 1, 2, 3, 1));
}

TEST(Pad, RefusesToRepeatNothing) {
  EXPECT_EQ(inferred("Pad", Pad{{1}, {0}, PadMode::kEdge}, {{DType::kF32, {0}, {}}}),
            "invalid model: Pad: axis 0 of size 0 becomes 1, wanted 0 or more, and elements to repeat");
  EXPECT_EQ(inferred("Pad", Pad{{-2}, {-2}}, {{DType::kF32, {3}, {}}}),
            "invalid model: Pad: axis 0 of size 3 becomes -1, wanted 0 or more, and elements to repeat");
}

}  // namespace

}  // namespace plica
