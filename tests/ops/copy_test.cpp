#include "ops/copy.h"

#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable copy_cases() {
  const ops::Copy op;
  return {"Copy",
          {
              {"tiny", op, {{{1}}}, kSizes},
              {"scalar", op, {{{}}}, kSizes},
              {"odd", op, {{{3, 5, 7}}}, kSizes},
              {"columns in memory", op, {{{4, 33, 17}, Layout::kTransposed}}, kSizes},
              {"heads", op, {{{2, 5, 9, 8}, Layout::kHeads}}, kSizes},
              {"rows apart", op, {{{9, 13}, Layout::kGapped}}, kSizes},
              {"backwards", op, {{{9, 13}, Layout::kReversed}}, kSizes},
              {"repeated", op, {{{9, 13}, Layout::kRepeated}}, kSizes},
              {"empty", op, {{{3, 0, 2}, Layout::kTransposed}}},
              {"many axes", op, {{{2, 1, 3, 2, 1, 2, 3, 2}, Layout::kHeads}}, kSizes},
              {"production", op, {{{1, 20, 257, 64}, Layout::kHeads}}},
          }};
}

namespace {

TEST(Copy, KeepsTheTypeAndDropsTheStrides) {
  EXPECT_EQ(inferred("Copy", ops::Copy{}, {{DType::kI8, {2, 3}, {1, 2}}}), "i8 2x3");
  EXPECT_EQ(evaluated("Copy", ops::Copy{}, {f32({2}, {3, 4})}), (std::vector<double>{3, 4}));
}

}  // namespace

}  // namespace plica
