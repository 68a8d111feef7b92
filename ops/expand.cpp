#include "ops/expand.h"

#include "ops/op.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

Result<Types> infer(const ops::Expand& op, InTypes in) {
  PLICA_TRY(const Shape shape, broadcast(in[0]->shape, op.shape));
  if (shape != op.shape)
    return Error(Code::kInvalidModel,
                 "Expand: x is " + to_string(in[0]->shape) + ", wanted one that broadcasts to " + to_string(op.shape));
  return Types{{in[0]->dtype, op.shape, {}}};
}

constexpr std::string_view kInputs[] = {"x"};

}  // namespace

constinit const OpDef expand_op = {
    .name = "Expand",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Expand>,
    .infer = As<ops::Expand>::fn<infer>,
    .is_view = true,
};

}  // namespace plica
