#include "ops/arg_reduce.h"

#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::ArgReduce& op, InTypes in) {
  const TensorType& x = *in[0];
  PLICA_CHECK(expect_number("ArgReduce: x", x));
  PLICA_CHECK(expect_axis("ArgReduce: axis", op.axis, x.shape.size()));
  const auto axis = static_cast<size_t>(op.axis);
  if (x.shape[axis] == 0)
    return Error(Code::kInvalidModel,
                 "ArgReduce: x is " + to_string(x.shape) + ", wanted an element along axis " + std::to_string(axis));
  Shape shape = x.shape;
  shape[axis] = 1;
  if (!op.keepdims) shape.erase(shape.begin() + op.axis);
  return Types{{DType::kI64, std::move(shape), {}}};
}

constexpr std::string_view kInputs[] = {"x"};

}  // namespace

constinit const OpDef arg_reduce_op = {
    .name = "ArgReduce",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::ArgReduce>,
    .infer = As<ops::ArgReduce>::fn<infer>,
};

}  // namespace plica
