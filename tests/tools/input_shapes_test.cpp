#include "tools/input_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plica {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<TensorInfo> kInputs = {{"input_ids", DType::kI64, true, {-1, -1}, {"batch", "length"}},
                                         {"attention_mask", DType::kI64, true, {-1, -1}, {"batch", "length"}},
                                         {"pair", DType::kF32, true, {-1, 8}, {"", ""}}};

std::string message_of(const std::vector<std::string>& arguments) {
  auto shapes = resolve_shapes(kInputs, arguments);
  return shapes ? "" : shapes.error().what();
}

TEST(InputShapes, SizesOfOneSymbolNeedToBeGivenOnce) {
  auto shapes = resolve_shapes(kInputs, {"input_ids=2x128", "pair=3x8"});
  ASSERT_TRUE(shapes) << to_string(shapes.error());
  EXPECT_THAT(*shapes, ElementsAre(Shape{2, 128}, Shape{2, 128}, Shape{3, 8}));
  shapes = resolve_shapes(kInputs, {"batch=1", "length=7", "pair=3x8"});
  ASSERT_TRUE(shapes);
  EXPECT_EQ((*shapes)[1], (Shape{1, 7}));
}

TEST(InputShapes, AScalarHasNoAxes) {
  auto shapes = resolve_shapes({{"x", DType::kF32, false, {}, {}}}, {"x=scalar"});
  ASSERT_TRUE(shapes);
  EXPECT_EQ((*shapes)[0], Shape{});
}

TEST(InputShapes, WhatIsWrongIsNamed) {
  EXPECT_THAT(message_of({"input_ids=2x128"}), HasSubstr("give --shape for: pair f32 ? x 8"));
  EXPECT_THAT(message_of({"ids=2x128"}), HasSubstr("no input or size 'ids'; it has input_ids i64 batch x length"));
  EXPECT_THAT(message_of({"input_ids"}), HasSubstr("cannot be read"));
  EXPECT_THAT(message_of({"=2"}), HasSubstr("cannot be read"));
  EXPECT_THAT(message_of({"input_ids=2x"}), HasSubstr("cannot be read"));
  EXPECT_THAT(message_of({"input_ids=2x-1"}), HasSubstr("cannot be read"));
  EXPECT_THAT(message_of({"input_ids=2"}), HasSubstr("has 2 axes; --shape gives 2"));
  EXPECT_THAT(message_of({"input_ids=1x1", "pair=3x9"}), HasSubstr("axis 1 of input pair f32 ? x 8 is fixed"));
}

}  // namespace
}  // namespace plica
