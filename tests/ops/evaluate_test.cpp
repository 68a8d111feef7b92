#include "ops/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/concat.h"
#include "ops/expand.h"
#include "ops/pointwise.h"
#include "ops/reshape.h"
#include "ops/scores.h"
#include "ops/slice.h"
#include "ops/top_k.h"
#include "ops/transpose.h"
#include "tests/harness/evaluated.h"

namespace plica {
namespace {

using testing::ElementsAre;

Tensor table() { return f32({2, 3}, {1, 2, 3, 4, 5, 6}); }

TEST(Evaluate, ViewsBecomeDenseTensors) {
  EXPECT_THAT(evaluated("Reshape", ops::Reshape{{3, 2}}, {table()}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(evaluated("Transpose", ops::Transpose{{1, 0}}, {table()}), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(evaluated("Slice", ops::Slice{{1, 2}, {1, 2}, {1, -2}}, {table()}), ElementsAre(6, 4));
  EXPECT_THAT(evaluated("Slice", ops::Slice{{1, 0}, {1, 3}, {1, 1}}, {table()}), ElementsAre(4, 5, 6));
  EXPECT_THAT(evaluated("Slice", ops::Slice{{0, 0}, {0, 3}, {1, 1}}, {table()}), ElementsAre());
  EXPECT_THAT(evaluated("Expand", ops::Expand{{2, 2}}, {i64({2, 1}, {7, 8})}), ElementsAre(7, 7, 8, 8));
}

TEST(Evaluate, AReshapeOfAStridedTensorTakesItsElementsInOrder) {
  const Tensor x = table();
  const TensorView columns{{DType::kF32, {3, 2}, {1, 3}}, const_cast<void*>(x.data())};
  const auto y = evaluate(*find_op("Reshape"), ops::Reshape{{6}}, {&columns, 1});
  ASSERT_TRUE(y);
  EXPECT_THAT(std::vector<float>((*y)[0].as<float>(), (*y)[0].as<float>() + 6), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(Evaluate, PrimitivesRunAsMaps) {
  EXPECT_THAT(evaluated("Add", ops::Pointwise{}, {i64({2}, {1, 2}), i64({}, {10})}), ElementsAre(11, 12));
  EXPECT_THAT(evaluated("Cast", ops::Cast{DType::kI64}, {f32({2}, {1.9, -1.9})}), ElementsAre(1, -1));
  EXPECT_THAT(
      evaluated("Where", ops::Pointwise{}, {tensor_of(DType::kBool, {2}, {1, 0}), i64({}, {5}), i64({2}, {6, 7})}),
      ElementsAre(5, 7));
}

TEST(Evaluate, GivesEveryResult) {
  EXPECT_THAT(evaluated("TopK", ops::TopK{.axis = 1, .k = 1}, {table()}, 0), ElementsAre(3, 6));
  EXPECT_THAT(evaluated("TopK", ops::TopK{.axis = 1, .k = 1}, {table()}, 1), ElementsAre(2, 2));
}

TEST(Evaluate, TakesManyInputsAndLargeScratch) {
  EXPECT_EQ(evaluated("Concat", ops::Concat{0}, std::vector<Tensor>(40, table())).size(), 240u);
  const Tensor wide = f32({1, 3000}, std::vector<double>(3000, 2));
  EXPECT_THAT(evaluated("TopK", ops::TopK{.axis = 1, .k = 2}, {wide}, 1), ElementsAre(0, 1));
}

TEST(Evaluate, SaysWhatHasNoKernels) {
  EXPECT_EQ(refused("Scores", ops::Scores{}, {table(), table()}), "unsupported: Scores has no kernels");
}

}  // namespace
}  // namespace plica
