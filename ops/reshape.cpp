#include "ops/reshape.h"

#include "ops/op.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

Result<Types> infer(const ops::Reshape& op, InTypes in) {
  for (int64_t size : op.shape)
    if (size < 0) return Error(Code::kInvalidModel, "Reshape: size " + std::to_string(size) + ", wanted 0 or more");
  if (num_elements(op.shape) != num_elements(in[0]->shape))
    return Error(Code::kInvalidModel,
                 "Reshape: x is " + to_string(in[0]->shape) + ", wanted as many elements as " + to_string(op.shape));
  return Types{{in[0]->dtype, op.shape, {}}};
}

constexpr std::string_view kInputs[] = {"x"};

}  // namespace

constinit const OpDef reshape_op = {
    .name = "Reshape",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Reshape>,
    .infer = As<ops::Reshape>::fn<infer>,
    .is_view = true,
};

}  // namespace plica
