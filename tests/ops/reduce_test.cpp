#include "ops/reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/evaluated.h"
#include "tests/ops/cases.h"

namespace plica {
OpTable reduce_cases() {
  using ops::Reduce;
  using ops::ReduceKind;
  std::vector<OpCase> cases = {
      {"integers", Reduce{ReduceKind::kSum, {1}}, {{{4, 7}}}, {DType::kI8, DType::kI32, DType::kI64, DType::kU8}},
      {"mean of integers", Reduce{ReduceKind::kMean, {0}}, {{{4, 7}}}, {DType::kI32, DType::kI64}},
      {"any and all", Reduce{ReduceKind::kMax, {1}}, {{{4, 7}}}, {DType::kBool}},
      {"scalar", Reduce{ReduceKind::kSum, {}}, {{{}}}, kFloats},
      {"production", Reduce{ReduceKind::kMean, {-1 + 3}}, {{{4, 257, 640}}}},
      {"long columns", Reduce{ReduceKind::kSum, {0}}, {{{1000, 3}}}},
      {"middle axes", Reduce{ReduceKind::kMax, {1, 2}}, {{{2, 3, 4, 40}}}},
      {"production over rows", Reduce{ReduceKind::kSum, {1}, false}, {{{4, 257, 640}}}},
  };
  for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kProd}) {
    const std::string name(names_of(kind)[static_cast<size_t>(kind)]);
    cases.push_back({name + " rows", Reduce{kind, {2}}, {{{3, 5, 7}}}, kFloats});
    cases.push_back({name + " columns", Reduce{kind, {0}, false}, {{{3, 5, 7}}}, kFloats});
    cases.push_back({name + " outer and inner", Reduce{kind, {0, 2}, false}, {{{3, 5, 7}, Layout::kTransposed}}});
    cases.push_back({name + " all", Reduce{kind, {0, 1}}, {{{3, 5}, Layout::kGapped}}});
    cases.push_back({name + " of nothing", Reduce{kind, {1}}, {{{3, 0}}}, {DType::kF32, DType::kF16, DType::kI32}});
    cases.push_back({name + " to nothing", Reduce{kind, {1}}, {{{0, 3}}}});
    cases.push_back({name + " backwards", Reduce{kind, {1}}, {{{4, 9}, Layout::kReversed}}});
  }
  return {"Reduce", std::move(cases)};
}

namespace {

using ops::Reduce;
using ops::ReduceKind;
using testing::ElementsAre;
using testing::IsNan;

TEST(Reduce, ReducesTheAxesItIsGiven) {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 7});
  EXPECT_THAT(evaluated("Reduce", Reduce{ReduceKind::kSum, {1}}, {x}), ElementsAre(6, 16));
  EXPECT_THAT(evaluated("Reduce", Reduce{ReduceKind::kMean, {0}}, {x}), ElementsAre(2.5, 3.5, 5));
  EXPECT_THAT(evaluated("Reduce", Reduce{ReduceKind::kMax, {0, 1}}, {x}), ElementsAre(7));
  EXPECT_THAT(evaluated("Reduce", Reduce{ReduceKind::kProd, {1}}, {x}), ElementsAre(6, 140));
  EXPECT_THAT(evaluated("Reduce", Reduce{ReduceKind::kMin, {}}, {x}), ElementsAre(1, 2, 3, 4, 5, 7));
}

TEST(Reduce, KeepsOrDropsTheAxes) {
  const TensorType x{DType::kF32, {2, 3, 4}, {}};
  EXPECT_EQ(inferred("Reduce", Reduce{ReduceKind::kSum, {0, 2}}, {x}), "f32 1x3x1");
  EXPECT_EQ(inferred("Reduce", Reduce{ReduceKind::kSum, {0, 2}, false}, {x}), "f32 3");
  EXPECT_EQ(inferred("Reduce", Reduce{ReduceKind::kSum, {2, 0}}, {x}),
            "invalid model: Reduce: axes are [2,0], wanted sorted axes of 2x3x4");
}

TEST(Reduce, KnowsEmptyRangesAndNaN) {
  const Tensor none = f32({1, 0}, {}), nan = f32({3}, {1, NAN, 2});
  EXPECT_THAT(evaluated("Reduce", Reduce{ReduceKind::kProd, {1}}, {none}), ElementsAre(1));
  EXPECT_THAT(evaluated("Reduce", Reduce{ReduceKind::kMax, {1}}, {none}), ElementsAre(-INFINITY));
  EXPECT_THAT(evaluated("Reduce", Reduce{ReduceKind::kMin, {1}}, {tensor_of(DType::kI8, {1, 0}, {})}),
              ElementsAre(127));
  EXPECT_THAT(evaluated("Reduce", Reduce{ReduceKind::kMean, {1}}, {none}), ElementsAre(IsNan()));
  EXPECT_THAT(evaluated("Reduce", Reduce{ReduceKind::kMax, {0}}, {nan}), ElementsAre(IsNan()));
}

TEST(Reduce, WrapsIntegersAndTruncatesTheirMean) {
  const Tensor x = tensor_of(DType::kI8, {3}, {100, 100, -7});
  EXPECT_THAT(evaluated("Reduce", Reduce{ReduceKind::kSum, {0}}, {x}), ElementsAre(193 - 256));
  EXPECT_THAT(evaluated("Reduce", Reduce{ReduceKind::kMean, {0}}, {i64({2}, {-3, -4})}), ElementsAre(-3));
}

}  // namespace

}  // namespace plica
