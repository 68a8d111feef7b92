#include "ops/concat.h"

#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::Concat& op, InTypes in) {
  if (in.empty()) return Error(Code::kInvalidModel, "Concat: no inputs, wanted 1 or more");
  PLICA_CHECK(expect_axis("Concat: axis", op.axis, in[0]->shape.size()));
  const auto axis = static_cast<size_t>(op.axis);
  Shape shape = in[0]->shape;
  for (const TensorType* x : in.subspan(1)) {
    PLICA_CHECK(expect_dtype("Concat: an input", *x, in[0]->dtype));
    bool fits = x->shape.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) fits = i == axis || x->shape[i] == shape[i];
    if (!fits)
      return Error(Code::kInvalidModel, "Concat: inputs are " + to_string(in[0]->shape) + " and " +
                                            to_string(x->shape) + ", wanted equal sizes but for axis " +
                                            std::to_string(axis));
    shape[axis] += x->shape[axis];
  }
  return Types{{in[0]->dtype, std::move(shape), {}}};
}

constexpr std::string_view kInputs[] = {"x..."};

}  // namespace

constinit const OpDef concat_op = {
    .name = "Concat",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Concat>,
    .infer = As<ops::Concat>::fn<infer>,
};

}  // namespace plica
