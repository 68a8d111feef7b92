#include "graph/scalar.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plica {
namespace {

ConstantPtr filled(DType dtype, Shape shape, double value) {
  Tensor tensor = *Tensor::zeros(dtype, std::move(shape));
  for (int64_t i = 0; i < num_elements(tensor.shape()); ++i) set_element(tensor, i, value);
  return make_constant(std::move(tensor));
}

TEST(Scalar, UniformValueIsTheShortestDecimal) {
  EXPECT_EQ(uniform_value(*filled(DType::kF32, {}, 1e-5)), 1e-5);
  EXPECT_EQ(uniform_value(*filled(DType::kF64, {2, 3}, 0.1)), 0.1);
  EXPECT_EQ(uniform_value(*filled(DType::kI64, {1}, -7)), -7);
  EXPECT_EQ(uniform_value(*filled(DType::kBool, {4}, 1)), 1);
  EXPECT_TRUE(std::isinf(*uniform_value(*filled(DType::kF16, {4}, -INFINITY))));
  EXPECT_FALSE(uniform_value(*filled(DType::kF32, {0}, 1)));
}

TEST(Scalar, DifferentElementsHaveNoUniformValue) {
  Tensor tensor = *Tensor::zeros(DType::kF32, {3});
  set_element(tensor, 1, -0.0);
  EXPECT_FALSE(uniform_value(*make_constant(std::move(tensor))));
}

TEST(Scalar, IrrationalsMatchToAMillionth) {
  EXPECT_TRUE(is_uniform(*filled(DType::kF32, {}, 1.4142135), 1.41421356));
  EXPECT_TRUE(is_uniform(*filled(DType::kF16, {}, 1.41421356), 1.41421356));
  EXPECT_FALSE(is_uniform(*filled(DType::kF32, {}, 1.4142), 1.41421356));
  EXPECT_FALSE(is_uniform(*filled(DType::kF32, {}, 2.000001), 2));
}

TEST(Scalar, TextParsesBackToTheElement) {
  EXPECT_EQ(element_text(*filled(DType::kF32, {}, 0.1), 0), "0.1");
  EXPECT_EQ(element_text(*filled(DType::kI64, {}, 3), 0), "3");
  EXPECT_EQ(element_text(*filled(DType::kBool, {}, 1), 0), "1");
}

}  // namespace
}  // namespace plica
