#include "ops/copy.h"

#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::Copy&, InTypes in) { return Types{{in[0]->dtype, in[0]->shape, {}}}; }

constexpr std::string_view kInputs[] = {"x"};

}  // namespace

constinit const OpDef copy_op = {
    .name = "Copy",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Copy>,
    .infer = As<ops::Copy>::fn<infer>,
};

}  // namespace plica
