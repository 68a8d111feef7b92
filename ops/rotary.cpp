#include "ops/rotary.h"

#include "ops/cost.h"
#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::Rotary&, InTypes in) {
  const TensorType& x = *in[0];
  PLICA_CHECK(expect_float("Rotary: x", x));
  PLICA_CHECK(expect_rank("Rotary: x", x, 2));
  if (x.shape.back() % 2 != 0)
    return Error(Code::kInvalidModel, "Rotary: x is " + to_string(x.shape) + ", wanted an even last size");
  PLICA_CHECK(expect_operand("Rotary: cos", in[1], x.dtype, x.shape));
  PLICA_CHECK(expect_operand("Rotary: sin", in[2], x.dtype, x.shape));
  return Types{{x.dtype, x.shape, {}}};
}

Cost cost(const ops::Rotary&, const Case& c) { return cost_per_element(c, 3); }

void structures(const ops::Rotary&, StructureCounts& counts) { counts.emplace_back("rotary", 1); }

constexpr std::string_view kInputs[] = {"x", "cos", "sin"};

}  // namespace

constinit const OpDef rotary_op = {
    .name = "Rotary",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Rotary>,
    .infer = As<ops::Rotary>::fn<infer>,
    .cost = As<ops::Rotary>::fn<cost>,
    .structures = As<ops::Rotary>::fn<structures>,
};

}  // namespace plica
