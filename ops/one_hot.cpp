#include "ops/one_hot.h"

#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::OneHot& op, InTypes in) {
  PLICA_CHECK(expect_number("OneHot: indices", *in[0]));
  PLICA_CHECK(expect_shape("OneHot: values", *in[1], {2}));
  PLICA_CHECK(expect_axis("OneHot: axis", op.axis, in[0]->shape.size() + 1));
  if (op.depth < 0)
    return Error(Code::kInvalidModel, "OneHot: depth is " + std::to_string(op.depth) + ", wanted 0 or more");
  Shape shape = in[0]->shape;
  shape.insert(shape.begin() + op.axis, op.depth);
  return Types{{in[1]->dtype, std::move(shape), {}}};
}

constexpr std::string_view kInputs[] = {"indices", "values"};

}  // namespace

constinit const OpDef one_hot_op = {
    .name = "OneHot",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::OneHot>,
    .infer = As<ops::OneHot>::fn<infer>,
};

}  // namespace plica
