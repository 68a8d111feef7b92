#include "ops/strided.h"

#include <gtest/gtest.h>

#include <vector>

namespace plica {
namespace {

std::vector<int64_t> offsets(const Shape& shape, const TensorType& type) {
  std::vector<int64_t> all;
  for_each_element<1>(shape, {&type}, [&](const std::array<int64_t, 1>& at) { all.push_back(at[0]); });
  return all;
}

TEST(Strided, WalksInRowMajorOrder) {
  EXPECT_EQ(offsets({2, 3}, {DType::kF32, {2, 3}, {}}), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(offsets({2, 3}, {DType::kF32, {2, 3}, {1, 2}}), (std::vector<int64_t>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(offsets({2, 2}, {DType::kF32, {2, 2}, {2, -1}}), (std::vector<int64_t>{0, -1, 2, 1}));
}

TEST(Strided, RepeatsWhatIsBroadcast) {
  EXPECT_EQ(offsets({2, 2}, {DType::kF32, {2, 1}, {}}), (std::vector<int64_t>{0, 0, 1, 1}));
  EXPECT_EQ(offsets({2, 2}, {DType::kF32, {}, {}}), (std::vector<int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(offsets({2, 2}, {DType::kF32, {2}, {7}}), (std::vector<int64_t>{0, 7, 0, 7}));
}

TEST(Strided, VisitsAScalarOnceAndNothingOfAnEmptyShape) {
  EXPECT_EQ(offsets({}, {DType::kF32, {}, {}}), (std::vector<int64_t>{0}));
  EXPECT_TRUE(offsets({3, 0}, {DType::kF32, {3, 0}, {}}).empty());
}

}  // namespace
}  // namespace plica
