#include "ops/transpose.h"

#include "ops/op.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

Result<Types> infer(const ops::Transpose& op, InTypes in) {
  const size_t rank = in[0]->shape.size();
  Shape shape(rank);
  std::vector<bool> seen(rank, false);
  bool valid = op.perm.size() == rank;
  for (size_t i = 0; valid && i < rank; ++i) {
    const auto axis = static_cast<size_t>(op.perm[i]);
    valid = axis < rank && !seen[axis];
    if (!valid) break;
    seen[axis] = true;
    shape[i] = in[0]->shape[axis];
  }
  if (!valid)
    return Error(Code::kInvalidModel, "Transpose: perm is " + to_string(AttrValue(op.perm)) +
                                          ", wanted an order of the axes of " + to_string(in[0]->shape));
  return Types{{in[0]->dtype, std::move(shape), {}}};
}

constexpr std::string_view kInputs[] = {"x"};

}  // namespace

constinit const OpDef transpose_op = {
    .name = "Transpose",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Transpose>,
    .infer = As<ops::Transpose>::fn<infer>,
    .is_view = true,
};

}  // namespace plica
