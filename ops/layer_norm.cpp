#include "ops/layer_norm.h"

#include "ops/cost.h"
#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::LayerNorm&, InTypes in) {
  const TensorType& x = *in[0];
  PLICA_CHECK(expect_float("LayerNorm: x", x));
  PLICA_CHECK(expect_rank("LayerNorm: x", x, 1));
  for (size_t i = 1; i < 3; ++i) {
    if (in[i] == nullptr) continue;
    const std::string_view where = i == 1 ? "LayerNorm: gamma" : "LayerNorm: beta";
    PLICA_CHECK(expect_dtype(where, *in[i], x.dtype));
    PLICA_CHECK(expect_shape(where, *in[i], {x.shape.back()}));
  }
  return Types{{x.dtype, x.shape, {}}};
}

Cost cost(const ops::LayerNorm&, const Case& c) { return cost_per_element(c, 8); }

void structures(const ops::LayerNorm&, StructureCounts& counts) { counts.emplace_back("layer_norm", 1); }

constexpr std::string_view kInputs[] = {"x", "gamma?", "beta?"};

}  // namespace

constinit const OpDef layer_norm_op = {
    .name = "LayerNorm",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::LayerNorm>,
    .infer = As<ops::LayerNorm>::fn<infer>,
    .cost = As<ops::LayerNorm>::fn<cost>,
    .structures = As<ops::LayerNorm>::fn<structures>,
};

}  // namespace plica
