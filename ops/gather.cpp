#include "ops/gather.h"

#include "ops/cost.h"
#include "ops/expect.h"
#include "ops/op.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

Result<Types> infer(const ops::Gather& op, InTypes in) {
  const Shape &x = in[0]->shape, &indices = in[1]->shape;
  PLICA_CHECK(expect_axis("Gather: axis", op.axis, x.size()));
  PLICA_CHECK(expect_index("Gather: indices", *in[1]));
  Shape shape(x.begin(), x.begin() + op.axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), x.begin() + op.axis + 1, x.end());
  return Types{{in[0]->dtype, std::move(shape), {}}};
}

// Of x, only what is gathered is read.
Cost cost(const ops::Gather&, const Case& c) {
  Case rest;
  rest.in = c.in.subspan(1);
  rest.out = c.out;
  return {0, operand_bytes(rest) + static_cast<double>(num_bytes(*c.out[0].type))};
}

constexpr std::string_view kInputs[] = {"x", "indices"};

}  // namespace

constinit const OpDef gather_op = {
    .name = "Gather",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Gather>,
    .infer = As<ops::Gather>::fn<infer>,
    .cost = As<ops::Gather>::fn<cost>,
};

}  // namespace plica
