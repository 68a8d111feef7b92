#include "ops/softmax.h"

#include "ops/cost.h"
#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::Softmax&, InTypes in) {
  PLICA_CHECK(expect_float("Softmax: x", *in[0]));
  PLICA_CHECK(expect_rank("Softmax: x", *in[0], 1));
  return Types{{in[0]->dtype, in[0]->shape, {}}};
}

Cost cost(const ops::Softmax&, const Case& c) { return cost_per_element(c, 5); }

constexpr std::string_view kInputs[] = {"x"};

}  // namespace

constinit const OpDef softmax_op = {
    .name = "Softmax",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Softmax>,
    .infer = As<ops::Softmax>::fn<infer>,
    .cost = As<ops::Softmax>::fn<cost>,
};

}  // namespace plica
