#include "ops/trilu.h"

#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::Trilu&, InTypes in) {
  PLICA_CHECK(expect_rank("Trilu: x", *in[0], 2));
  return Types{{in[0]->dtype, in[0]->shape, {}}};
}

constexpr std::string_view kInputs[] = {"x"};

}  // namespace

constinit const OpDef trilu_op = {
    .name = "Trilu",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Trilu>,
    .infer = As<ops::Trilu>::fn<infer>,
};

}  // namespace plica
