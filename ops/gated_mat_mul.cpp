#include "ops/gated_mat_mul.h"

#include "ops/cost.h"
#include "ops/expect.h"
#include "ops/op.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

using Op = ops::GatedMatMul;

Status expect_vector(std::string_view where, const TensorType* found, DType dtype, int64_t size) {
  if (found == nullptr) return {};
  PLICA_CHECK(expect_dtype(where, *found, dtype));
  return expect_shape(where, *found, {size});
}

// The source of the gate, where it is not a.
Status expect_source(const TensorType& a, InTypes in) {
  if (in[Op::kB] == nullptr) {
    if (in[Op::kGateGamma] == nullptr && in[Op::kGateBeta] == nullptr) return {};
    return Error(Code::kInvalidModel, "GatedMatMul: a norm of the gate's source is there and b is not");
  }
  PLICA_CHECK(expect_dtype("GatedMatMul: b", *in[Op::kB], a.dtype));
  Shape shape = a.shape;
  shape.back() = in[Op::kB]->shape.empty() ? 0 : in[Op::kB]->shape.back();
  return expect_shape("GatedMatMul: b", *in[Op::kB], shape);
}

Result<Types> infer(const Op&, InTypes in) {
  const TensorType& a = *in[Op::kA];
  PLICA_CHECK(expect_float("GatedMatMul: a", a));
  PLICA_CHECK(expect_rank("GatedMatMul: a", a, 2));
  PLICA_CHECK(expect_source(a, in));
  const int64_t depth = a.shape.back(), gate_depth = in[Op::kB] != nullptr ? in[Op::kB]->shape.back() : depth;
  const TensorType &value = *in[Op::kValue], &gate = *in[Op::kGate];
  PLICA_CHECK(expect_dtype("GatedMatMul: value", value, a.dtype));
  PLICA_CHECK(expect_dtype("GatedMatMul: gate", gate, a.dtype));
  PLICA_CHECK(expect_rank("GatedMatMul: value", value, 2));
  const int64_t columns = value.shape[0];
  PLICA_CHECK(expect_shape("GatedMatMul: value", value, {columns, depth}));
  PLICA_CHECK(expect_shape("GatedMatMul: gate", gate, {columns, gate_depth}));
  PLICA_CHECK(expect_vector("GatedMatMul: value_bias", in[Op::kValueBias], a.dtype, columns));
  PLICA_CHECK(expect_vector("GatedMatMul: gate_bias", in[Op::kGateBias], a.dtype, columns));
  PLICA_CHECK(expect_vector("GatedMatMul: gamma", in[Op::kGamma], a.dtype, depth));
  PLICA_CHECK(expect_vector("GatedMatMul: beta", in[Op::kBeta], a.dtype, depth));
  PLICA_CHECK(expect_vector("GatedMatMul: gate_gamma", in[Op::kGateGamma], a.dtype, gate_depth));
  PLICA_CHECK(expect_vector("GatedMatMul: gate_beta", in[Op::kGateBeta], a.dtype, gate_depth));
  Shape shape = a.shape;
  shape.back() = 1;
  PLICA_CHECK(expect_operand("GatedMatMul: mask", in[Op::kMask], a.dtype, shape));
  shape.back() = columns;
  PLICA_CHECK(expect_operand("GatedMatMul: residual", in[Op::kResidual], a.dtype, shape));
  return Types{{a.dtype, std::move(shape), {}}};
}

Cost cost(const Op&, const Case& c) {
  const auto depth = c.in[Op::kValue].type->shape.back() + c.in[Op::kGate].type->shape.back();
  return cost_per_element(c, 2 * static_cast<double>(depth));
}

void structures(const Op& op, StructureCounts& counts) {
  if (op.activation == ops::Activation::kSilu) counts.emplace_back("swiglu", 1);
  if (op.activation == ops::Activation::kGelu || op.activation == ops::Activation::kGeluTanh)
    counts.emplace_back("gelu", 1);
}

constexpr std::string_view kInputs[] = {"a",  "value",  "gate",  "value_bias?", "gate_bias?", "mask?",
                                        "b?", "gamma?", "beta?", "gate_gamma?", "gate_beta?", "residual?"};
static_assert(std::size(kInputs) == Op::kNumOperands);

}  // namespace

constinit const OpDef gated_mat_mul_op = {
    .name = "GatedMatMul",
    .inputs = kInputs,
    .attrs = &kAttrsDef<Op>,
    .infer = As<Op>::fn<infer>,
    .cost = As<Op>::fn<cost>,
    .structures = As<Op>::fn<structures>,
};

}  // namespace plica
