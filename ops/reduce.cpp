#include "ops/reduce.h"

#include "ops/cost.h"
#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::Reduce& op, InTypes in) {
  const TensorType& x = *in[0];
  if (op.kind != ops::ReduceKind::kMin && op.kind != ops::ReduceKind::kMax) PLICA_CHECK(expect_number("Reduce: x", x));
  Shape shape = x.shape;
  int64_t previous = -1;
  for (int64_t axis : op.axes) {
    if (axis <= previous || axis >= static_cast<int64_t>(x.shape.size()))
      return Error(Code::kInvalidModel, "Reduce: axes are " + to_string(AttrValue(op.axes)) +
                                            ", wanted sorted axes of " + to_string(x.shape));
    shape[static_cast<size_t>(axis)] = 1;
    previous = axis;
  }
  if (!op.keepdims)
    for (size_t i = op.axes.size(); i-- > 0;) shape.erase(shape.begin() + op.axes[i]);
  return Types{{x.dtype, std::move(shape), {}}};
}

Cost cost(const ops::Reduce&, const Case& c) {
  return {static_cast<double>(num_elements(c.in[0].type->shape)), operand_bytes(c)};
}

constexpr std::string_view kInputs[] = {"x"};

}  // namespace

constinit const OpDef reduce_op = {
    .name = "Reduce",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Reduce>,
    .infer = As<ops::Reduce>::fn<infer>,
    .cost = As<ops::Reduce>::fn<cost>,
};

}  // namespace plica
