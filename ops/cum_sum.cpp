#include "ops/cum_sum.h"

#include "ops/cost.h"
#include "ops/expect.h"
#include "ops/op.h"
#include "runtime/core/dtype.h"

namespace plica {
namespace {

Result<Types> infer(const ops::CumSum& op, InTypes in) {
  const TensorType& x = *in[0];
  PLICA_CHECK(expect_number("CumSum: x", x));
  if (size_of(x.dtype) < 4 && !is_float(x.dtype))
    return Error(Code::kInvalidModel,
                 "CumSum: x is " + std::string(name_of(x.dtype)) + ", wanted a float or an integer of 32 or 64 bits");
  PLICA_CHECK(expect_axis("CumSum: axis", op.axis, x.shape.size()));
  return Types{{x.dtype, x.shape, {}}};
}

Cost cost(const ops::CumSum&, const Case& c) { return cost_per_element(c, 1); }

constexpr std::string_view kInputs[] = {"x"};

}  // namespace

constinit const OpDef cum_sum_op = {
    .name = "CumSum",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::CumSum>,
    .infer = As<ops::CumSum>::fn<infer>,
    .cost = As<ops::CumSum>::fn<cost>,
};

}  // namespace plica
