#include "ops/scatter_elements.h"

#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::ScatterElements& op, InTypes in) {
  const Shape &x = in[0]->shape, &indices = in[1]->shape;
  PLICA_CHECK(expect_axis("ScatterElements: axis", op.axis, x.size()));
  PLICA_CHECK(expect_index("ScatterElements: indices", *in[1]));
  PLICA_CHECK(expect_dtype("ScatterElements: updates", *in[2], in[0]->dtype));
  PLICA_CHECK(expect_shape("ScatterElements: updates", *in[2], indices));
  if (op.reduction != ops::ScatterReduction::kNone) PLICA_CHECK(expect_number("ScatterElements: x", *in[0]));
  bool fits = indices.size() == x.size();
  for (size_t i = 0; fits && i < x.size(); ++i) fits = i == static_cast<size_t>(op.axis) || indices[i] <= x[i];
  if (!fits)
    return Error(Code::kInvalidModel, "ScatterElements: indices are " + to_string(indices) +
                                          ", wanted no larger than x, " + to_string(x) + ", but for axis " +
                                          std::to_string(op.axis));
  return Types{{in[0]->dtype, x, {}}};
}

constexpr std::string_view kInputs[] = {"x", "indices", "updates"};

}  // namespace

constinit const OpDef scatter_elements_op = {
    .name = "ScatterElements",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::ScatterElements>,
    .infer = As<ops::ScatterElements>::fn<infer>,
};

}  // namespace plica
