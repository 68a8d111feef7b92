#include "ops/scores.h"

#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"

namespace plica {
namespace {

TEST(Scores, AreOneANumberOfRowsAndKeys) {
  const TensorType q{DType::kF32, {2, 3, 4}, {}}, k{DType::kF32, {5, 4}, {}}, bias{DType::kF32, {3, 1}, {}};
  const TensorType mask{DType::kBool, {2, 1, 5}, {}}, wrong{DType::kI64, {5}, {}};
  EXPECT_EQ(inferred("Scores", ops::Scores{}, {q, k, bias, mask}), "f32 2x3x5");
  EXPECT_EQ(inferred("Scores", ops::Scores{}, {q, k, bias, wrong}), "invalid model: Scores: mask is i64, wanted f32");
  EXPECT_EQ(inferred("Scores", ops::Scores{}, {q, {DType::kF32, {5, 3}, {}}}),
            "invalid model: Scores: q is 2x3x4 and k is 5x3, wanted one width");
}

}  // namespace
}  // namespace plica
