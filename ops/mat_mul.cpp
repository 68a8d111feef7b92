#include "ops/mat_mul.h"

#include "ops/cost.h"
#include "ops/expect.h"
#include "ops/op.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

Result<Types> infer(const ops::MatMul& op, InTypes in) {
  const TensorType &a = *in[0], &b = *in[1];
  if (op.alpha != 1 || op.activation != ops::Activation::kNone || op.gate_sigmoid)
    PLICA_CHECK(expect_float("MatMul with a scale, activation or sigmoid: a", a));
  PLICA_CHECK(expect_number("MatMul: a", a));
  PLICA_CHECK(expect_dtype("MatMul: b", b, a.dtype));
  PLICA_CHECK(expect_rank("MatMul: a", a, 2));
  PLICA_CHECK(expect_rank("MatMul: b", b, 2));
  const int64_t rows = a.shape.end()[-2], inner = a.shape.back(), columns = b.shape.back();
  if (inner != b.shape.end()[-2])
    return Error(Code::kInvalidModel, "MatMul: a is " + to_string(a.shape) + " and b is " + to_string(b.shape) +
                                          ", wanted equal inner sizes");
  PLICA_TRY(Shape shape, broadcast({a.shape.begin(), a.shape.end() - 2}, {b.shape.begin(), b.shape.end() - 2}));
  shape.push_back(rows);
  shape.push_back(columns);
  if (in[2] != nullptr) {
    PLICA_CHECK(expect_dtype("MatMul: bias", *in[2], a.dtype));
    PLICA_CHECK(expect_shape("MatMul: bias", *in[2], {columns}));
  }
  PLICA_CHECK(expect_operand("MatMul: gate", in[3], a.dtype, shape));
  PLICA_CHECK(expect_operand("MatMul: residual", in[4], a.dtype, shape));
  return Types{{a.dtype, std::move(shape), {}}};
}

Cost cost(const ops::MatMul&, const Case& c) {
  return cost_per_element(c, 2 * static_cast<double>(c.in[0].type->shape.back()));
}

void structures(const ops::MatMul& op, StructureCounts& counts) {
  if (op.activation == ops::Activation::kGelu || op.activation == ops::Activation::kGeluTanh)
    counts.emplace_back("gelu", 1);
}

constexpr std::string_view kInputs[] = {"a", "b", "bias?", "gate?", "residual?"};

}  // namespace

constinit const OpDef mat_mul_op = {
    .name = "MatMul",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::MatMul>,
    .infer = As<ops::MatMul>::fn<infer>,
    .cost = As<ops::MatMul>::fn<cost>,
    .structures = As<ops::MatMul>::fn<structures>,
};

}  // namespace plica
