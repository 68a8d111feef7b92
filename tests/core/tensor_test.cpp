#include "plica/tensor.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace plica {
namespace {

TEST(Tensor, IsZeroedAlignedAndDense) {
  Result<Tensor> tensor = Tensor::zeros(DType::kI16, {3, 5});
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->num_bytes(), 30u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data()) % 64, 0u);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(tensor->as<int16_t>()[i], 0);
  EXPECT_TRUE(tensor->view().type.strides.empty());
}

TEST(Tensor, CopiesShareTheirMemory) {
  Tensor a = *Tensor::zeros(DType::kF32, {2});
  const Tensor b = a;
  a.as<float>()[1] = 5;
  EXPECT_EQ(b.as<float>()[1], 5);
}

TEST(Tensor, EmptyAndScalarOnesHaveMemory) {
  EXPECT_NE(Tensor::zeros(DType::kF32, {0, 4})->data(), nullptr);
  EXPECT_EQ(Tensor::zeros(DType::kF32, {0, 4})->num_bytes(), 0u);
  EXPECT_EQ(Tensor::zeros(DType::kF64, {})->num_bytes(), 8u);
  EXPECT_EQ(Tensor().num_bytes(), 0u);
}

TEST(Tensor, RefusesImpossibleShapes) {
  const auto negative = Tensor::zeros(DType::kF32, {2, -1});
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().code(), Code::kInvalidInput);
  EXPECT_EQ(negative.error().what(), "shape 2x-1 has a negative size");
  const auto huge = Tensor::zeros(DType::kF32, {int64_t{1} << 40, int64_t{1} << 40});
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code(), Code::kOutOfMemory);
}

TEST(Tensor, TypesPrint) {
  EXPECT_EQ(to_string(TensorType{DType::kBF16, {2, 8, 32}, {}}), "bf16 2x8x32");
  EXPECT_EQ(to_string(Shape{}), "scalar");
}

}  // namespace
}  // namespace plica
