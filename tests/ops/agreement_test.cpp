#include "tests/harness/agreement.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/harness/evaluated.h"
#include "tests/harness/operand_memory.h"

namespace plica {
namespace {

bool agree(const Tensor& found, const Tensor& wanted) { return !disagreement(found.view(), wanted.view(), 1); }
Tensor f64(const std::vector<double>& values) {
  return tensor_of(DType::kF64, {static_cast<int64_t>(values.size())}, values);
}

TEST(Agreement, IsWithinTheToleranceOfTheDtype) {
  EXPECT_TRUE(agree(f32({1}, {100.001}), f64({100})));
  EXPECT_FALSE(agree(f32({1}, {100.01}), f64({100})));
  EXPECT_TRUE(agree(tensor_of(DType::kF16, {1}, {100.1}), f64({100})));
  EXPECT_FALSE(agree(i64({2}, {1, 2}), i64({2}, {1, 3})));
}

TEST(Agreement, OfNaNAndInfinityIsExact) {
  EXPECT_TRUE(agree(f32({2}, {NAN, INFINITY}), f64({NAN, INFINITY})));
  EXPECT_FALSE(agree(f32({1}, {NAN}), f64({1})));
  EXPECT_FALSE(agree(f32({1}, {1}), f64({NAN})));
  EXPECT_FALSE(agree(f32({1}, {1e30}), f64({INFINITY})));
  EXPECT_FALSE(agree(f32({1}, {-INFINITY}), f64({INFINITY})));
  EXPECT_TRUE(agree(tensor_of(DType::kF16, {1}, {INFINITY}), f64({1e5})));
}

TEST(Agreement, NamesTheElement) {
  EXPECT_EQ(*disagreement(i64({2}, {1, 2}).view(), i64({2}, {1, 3}).view(), 1), "element 1 is 2, wanted 3");
}

TEST(OperandMemory, LaysValuesOutAsAsked) {
  for (Layout layout : {Layout::kDense, Layout::kTransposed, Layout::kHeads, Layout::kReversed, Layout::kGapped}) {
    const OperandSpec spec{.shape = {2, 2, 3}, .layout = layout, .values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};
    const OperandMemory memory(spec, DType::kF32, spec.values);
    EXPECT_EQ(memory.view().type.strides.empty(), layout == Layout::kDense);
    const TensorView x = memory.view();
    const Strides strides = layout == Layout::kDense ? Strides{6, 3, 1} : x.type.strides;
    EXPECT_EQ(static_cast<const float*>(x.data)[strides[0] + strides[1] + 2 * strides[2]], 11);
  }
}

TEST(GuardedMemory, NoticesWritesOutside) {
  GuardedMemory memory(8);
  EXPECT_TRUE(memory.guards_are_whole());
  memory.data()[8] = std::byte{0};
  EXPECT_FALSE(memory.guards_are_whole());
}

}  // namespace
}  // namespace plica
