#include "ops/pointwise.h"

#include <gtest/gtest.h>

#include "tests/harness/evaluated.h"

namespace plica {
namespace {

const TensorType kF{DType::kF32, {2, 3}, {}}, kI{DType::kI64, {3}, {}}, kB{DType::kBool, {2, 1}, {}};

TEST(Pointwise, PrimitivesAreFoundByTheirFunction) {
  EXPECT_EQ(pointwise_op(ops::Fn::kGelu).name, "Gelu");
  EXPECT_EQ(fn_of(*find_op("Where")), ops::Fn::kWhere);
  EXPECT_FALSE(is_pointwise(*find_op("MatMul")));
  for (const OpDef& op : pointwise_ops()) {
    EXPECT_TRUE(is_pointwise(op));
    EXPECT_EQ(op.inputs.size(), static_cast<size_t>(ops::def_of(fn_of(op)).num_inputs));
  }
}

TEST(Pointwise, CommutativeOnesSaySo) {
  EXPECT_TRUE(find_op("Add")->commutative);
  EXPECT_TRUE(find_op("Equal")->commutative);
  EXPECT_FALSE(find_op("Sub")->commutative);
  EXPECT_FALSE(find_op("Less")->commutative);
}

TEST(Pointwise, InfersShapeAndDtype) {
  EXPECT_EQ(inferred("Add", ops::Pointwise{}, {kF, {DType::kF32, {4, 1, 3}, {}}}), "f32 4x2x3");
  EXPECT_EQ(inferred("Less", ops::Pointwise{}, {kF, kF}), "bool 2x3");
  EXPECT_EQ(inferred("Cast", ops::Cast{DType::kI8}, {kF}), "i8 2x3");
  EXPECT_EQ(inferred("Where", ops::Pointwise{}, {kB, kI, kI}), "i64 2x3");
  EXPECT_EQ(inferred("Pow", ops::Pointwise{}, {kF, kI}), "f32 2x3");
}

TEST(Pointwise, RefusesMixedDtypes) {
  EXPECT_EQ(inferred("Add", ops::Pointwise{}, {kF, kI}),
            "invalid model: Add: operands of type f32 and i64, wanted one type");
  EXPECT_EQ(inferred("Where", ops::Pointwise{}, {kF, kF, kF}),
            "invalid model: Where: the condition is f32, wanted bool");
}

}  // namespace
}  // namespace plica
