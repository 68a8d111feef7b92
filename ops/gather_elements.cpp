#include "ops/gather_elements.h"

#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::GatherElements& op, InTypes in) {
  const Shape &x = in[0]->shape, &indices = in[1]->shape;
  PLICA_CHECK(expect_axis("GatherElements: axis", op.axis, x.size()));
  PLICA_CHECK(expect_index("GatherElements: indices", *in[1]));
  bool fits = indices.size() == x.size();
  for (size_t i = 0; fits && i < x.size(); ++i) fits = i == static_cast<size_t>(op.axis) || indices[i] <= x[i];
  if (!fits)
    return Error(Code::kInvalidModel, "GatherElements: indices are " + to_string(indices) +
                                          ", wanted no larger than x, " + to_string(x) + ", but for axis " +
                                          std::to_string(op.axis));
  return Types{{in[0]->dtype, indices, {}}};
}

constexpr std::string_view kInputs[] = {"x", "indices"};

}  // namespace

constinit const OpDef gather_elements_op = {
    .name = "GatherElements",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::GatherElements>,
    .infer = As<ops::GatherElements>::fn<infer>,
};

}  // namespace plica
