#include "ops/outer_product_mean.h"

#include "ops/cost.h"
#include "ops/expect.h"
#include "ops/op.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

Result<Types> infer(const ops::OuterProductMean&, InTypes in) {
  const TensorType &a = *in[0], &b = *in[1], &weight = *in[2];
  PLICA_CHECK(expect_float("OuterProductMean: a", a));
  PLICA_CHECK(expect_dtype("OuterProductMean: b", b, a.dtype));
  PLICA_CHECK(expect_dtype("OuterProductMean: weight", weight, a.dtype));
  if (a.shape.size() != 4 || b.shape.size() != 4 || a.shape[0] != b.shape[0] || a.shape[1] != b.shape[1])
    return Error(Code::kInvalidModel, "OuterProductMean: a is " + to_string(a.shape) + " and b is " +
                                          to_string(b.shape) + ", wanted BxSxNxC1 and BxSxMxC2");
  if (weight.shape.size() != 2 || weight.shape[0] != a.shape[3] * b.shape[3])
    return Error(Code::kInvalidModel, "OuterProductMean: weight is " + to_string(weight.shape) + ", wanted " +
                                          std::to_string(a.shape[3] * b.shape[3]) + " rows");
  const int64_t channels = weight.shape[1];
  const Shape shape = {a.shape[0], a.shape[2], b.shape[2], channels};
  if (in[3] != nullptr) {
    PLICA_CHECK(expect_dtype("OuterProductMean: bias", *in[3], a.dtype));
    PLICA_CHECK(expect_shape("OuterProductMean: bias", *in[3], {channels}));
  }
  PLICA_CHECK(expect_operand("OuterProductMean: norm", in[4], a.dtype, {shape[0], shape[1], shape[2], 1}));
  if (in[5] != nullptr) {
    PLICA_CHECK(expect_dtype("OuterProductMean: residual", *in[5], a.dtype));
    PLICA_CHECK(expect_shape("OuterProductMean: residual", *in[5], shape));
  }
  return Types{{a.dtype, shape, {}}};
}

Cost cost(const ops::OuterProductMean&, const Case& c) {
  const Shape &a = c.in[0].type->shape, &y = c.out[0].type->shape;
  const auto pairs = static_cast<double>(num_rows(y)), products = static_cast<double>(c.in[2].type->shape[0]);
  return {2 * pairs * products * static_cast<double>(a[1] + y[3]), operand_bytes(c)};
}

void structures(const ops::OuterProductMean&, StructureCounts& counts) { counts.emplace_back("outer_product_mean", 1); }

constexpr std::string_view kInputs[] = {"a", "b", "weight", "bias?", "norm?", "residual?"};

}  // namespace

constinit const OpDef outer_product_mean_op = {
    .name = "OuterProductMean",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::OuterProductMean>,
    .infer = As<ops::OuterProductMean>::fn<infer>,
    .cost = As<ops::OuterProductMean>::fn<cost>,
    .structures = As<ops::OuterProductMean>::fn<structures>,
};

}  // namespace plica
