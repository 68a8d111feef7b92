#include "ops/rms_norm.h"

#include "ops/cost.h"
#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::RmsNorm&, InTypes in) {
  const TensorType& x = *in[0];
  PLICA_CHECK(expect_float("RmsNorm: x", x));
  PLICA_CHECK(expect_rank("RmsNorm: x", x, 1));
  if (in[1] != nullptr) {
    PLICA_CHECK(expect_dtype("RmsNorm: gamma", *in[1], x.dtype));
    PLICA_CHECK(expect_shape("RmsNorm: gamma", *in[1], {x.shape.back()}));
  }
  return Types{{x.dtype, x.shape, {}}};
}

Cost cost(const ops::RmsNorm&, const Case& c) { return cost_per_element(c, 4); }

void structures(const ops::RmsNorm&, StructureCounts& counts) { counts.emplace_back("rms_norm", 1); }

constexpr std::string_view kInputs[] = {"x", "gamma?"};

}  // namespace

constinit const OpDef rms_norm_op = {
    .name = "RmsNorm",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::RmsNorm>,
    .infer = As<ops::RmsNorm>::fn<infer>,
    .cost = As<ops::RmsNorm>::fn<cost>,
    .structures = As<ops::RmsNorm>::fn<structures>,
};

}  // namespace plica
