#include "tests/harness/one_op.h"

namespace plica::onnx {
namespace {

using proto::TensorProto;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

// An operand of an 8-bit type, as a constant.
template <class T>
void add_constant(OneOp& op, int type, std::vector<int64_t> dims, const std::vector<T>& elements) {
  const std::string name = "q" + std::to_string(op.node().input_size());
  *op.graph().add_initializer() = raw_tensor<T>(name, type, std::move(dims), elements);
  op.node().add_input(name);
}

TEST(OnnxQuantize, RoundsToEvenAndSaturates) {
  EXPECT_THAT(first(OneOp("QuantizeLinear").input<float>({5}, {-1, 1, 3, 5, 9999}).constant<float>({}, {2})).values,
              ElementsAre(0, 0, 2, 2, 255));
  OneOp signed_op("QuantizeLinear");
  signed_op.input<float>({3}, {-999, 0, 999}).constant<float>({}, {2});
  add_constant<int8_t>(signed_op, TensorProto::INT8, {}, {10});
  EXPECT_THAT(first(signed_op).values, ElementsAre(-128, 10, 127));
  EXPECT_THAT(error_of(OneOp("QuantizeLinear", 21)
                           .counted({2})
                           .constant<float>({}, {2})
                           .attr("output_dtype", int64_t{TensorProto::FLOAT8E5M2})),
              HasSubstr("float8e5m2"));
}

TEST(OnnxQuantize, AScaleAChannelOrABlock) {
  EXPECT_THAT(
      first(OneOp("DequantizeLinear").constant<int32_t>({2, 2}, {1, 2, 3, 4}).constant<float>({2}, {1, 10})).values,
      ElementsAre(1, 20, 3, 40));
  EXPECT_THAT(first(OneOp("DequantizeLinear")
                        .constant<int32_t>({2, 2}, {1, 2, 3, 4})
                        .constant<float>({2}, {1, 10})
                        .attr("axis", int64_t{0}))
                  .values,
              ElementsAre(1, 2, 30, 40));
  EXPECT_THAT(first(OneOp("DequantizeLinear", 21)
                        .constant<int32_t>({3}, {1, 2, 3})
                        .constant<float>({2}, {1, 10})
                        .attr("axis", int64_t{0})
                        .attr("block_size", int64_t{2}))
                  .values,
              ElementsAre(1, 2, 30));
}

TEST(OnnxQuantize, DynamicRange) {
  auto op = OneOp("DynamicQuantizeLinear", 17, 3).input<float>({3}, {-1, 0, 4.1f});
  const auto outputs = op.run();
  ASSERT_TRUE(outputs) << to_string(outputs.error());
  EXPECT_THAT(numbers((*outputs)[0]).values, ElementsAre(0, 50, 255));
  EXPECT_THAT(numbers((*outputs)[1]).values, ElementsAre(testing::DoubleNear(0.02, 1e-6)));
  EXPECT_THAT(numbers((*outputs)[2]).values, ElementsAre(50));
}

TEST(OnnxQuantize, IntegerProducts) {
  OneOp product("MatMulInteger");
  add_constant<uint8_t>(product, TensorProto::UINT8, {1, 2}, {3, 4});
  add_constant<uint8_t>(product, TensorProto::UINT8, {2, 1}, {10, 20});
  add_constant<uint8_t>(product, TensorProto::UINT8, {}, {1});
  EXPECT_THAT(first(product).values, ElementsAre(2 * 10 + 3 * 20));

  OneOp scaled("QLinearMatMul");
  add_constant<int8_t>(scaled, TensorProto::INT8, {1, 2}, {100, 100});
  scaled.constant<float>({}, {1});
  add_constant<int8_t>(scaled, TensorProto::INT8, {}, {0});
  add_constant<int8_t>(scaled, TensorProto::INT8, {2, 2}, {1, -100, 0, -100});
  scaled.constant<float>({}, {1});
  add_constant<int8_t>(scaled, TensorProto::INT8, {}, {0});
  scaled.constant<float>({}, {2});
  add_constant<int8_t>(scaled, TensorProto::INT8, {}, {5});
  EXPECT_THAT(first(scaled).values, ElementsAre(55, -128));
}

TEST(OnnxQuantize, IntegerConvolutions) {
  OneOp plain("ConvInteger");
  add_constant<uint8_t>(plain, TensorProto::UINT8, {1, 1, 3}, {2, 3, 4});
  add_constant<uint8_t>(plain, TensorProto::UINT8, {1, 1, 2}, {1, 10});
  add_constant<uint8_t>(plain, TensorProto::UINT8, {}, {1});
  EXPECT_THAT(first(plain.attr("pads", std::vector<int64_t>{1, 0})).values, ElementsAre(10, 21, 32));
}

}  // namespace
}  // namespace plica::onnx
