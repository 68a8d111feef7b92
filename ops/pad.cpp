#include "ops/pad.h"

#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::Pad& op, InTypes in) {
  const TensorType& x = *in[0];
  const size_t rank = x.shape.size();
  if (op.before.size() != rank || op.after.size() != rank)
    return Error(Code::kInvalidModel,
                 "Pad: before or after do not have one entry for each axis of " + to_string(x.shape));
  if (in[1] != nullptr) {
    PLICA_CHECK(expect_dtype("Pad: value", *in[1], x.dtype));
    PLICA_CHECK(expect_shape("Pad: value", *in[1], {}));
  }
  Shape shape = x.shape;
  for (size_t i = 0; i < rank; ++i) {
    shape[i] += op.before[i] + op.after[i];
    const bool source = op.mode == ops::PadMode::kConstant || x.shape[i] > 0 || shape[i] == 0;
    if (shape[i] < 0 || !source)
      return Error(Code::kInvalidModel, "Pad: axis " + std::to_string(i) + " of size " + std::to_string(x.shape[i]) +
                                            " becomes " + std::to_string(shape[i]) +
                                            ", wanted 0 or more, and elements to repeat");
  }
  return Types{{x.dtype, std::move(shape), {}}};
}

constexpr std::string_view kInputs[] = {"x", "value?"};

}  // namespace

constinit const OpDef pad_op = {
    .name = "Pad",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Pad>,
    .infer = As<ops::Pad>::fn<infer>,
};

}  // namespace plica
