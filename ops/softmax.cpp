#include "ops/softmax.h"

#include "ops/cost.h"
#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::Softmax&, InTypes in) {
  const TensorType& x = *in[0];
  PLICA_CHECK(expect_float("Softmax: x", x));
  PLICA_CHECK(expect_rank("Softmax: x", x, 1));
  PLICA_CHECK(expect_operand("Softmax: bias", in[1], x.dtype, x.shape));
  if (in[2] != nullptr) {
    const DType mask = in[2]->dtype == DType::kBool ? DType::kBool : x.dtype;
    PLICA_CHECK(expect_operand("Softmax: mask", in[2], mask, x.shape));
  }
  return Types{{x.dtype, x.shape, {}}};
}

Cost cost(const ops::Softmax&, const Case& c) { return cost_per_element(c, 5 + c.has(1) + c.has(2)); }

void structures(const ops::Softmax& op, StructureCounts& counts) {
  if (op.attention) counts.emplace_back("attention", 1);
}

constexpr std::string_view kInputs[] = {"x", "bias?", "mask?"};

}  // namespace

constinit const OpDef softmax_op = {
    .name = "Softmax",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Softmax>,
    .infer = As<ops::Softmax>::fn<infer>,
    .cost = As<ops::Softmax>::fn<cost>,
    .structures = As<ops::Softmax>::fn<structures>,
};

}  // namespace plica
