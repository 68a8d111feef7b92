#include "ops/top_k.h"

#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::TopK& op, InTypes in) {
  const TensorType& x = *in[0];
  PLICA_CHECK(expect_number("TopK: x", x));
  PLICA_CHECK(expect_axis("TopK: axis", op.axis, x.shape.size()));
  Shape shape = x.shape;
  int64_t& size = shape[static_cast<size_t>(op.axis)];
  if (op.k < 0 || op.k > size)
    return Error(Code::kInvalidModel, "TopK: k is " + std::to_string(op.k) + ", wanted 0 to " + std::to_string(size) +
                                          ", the size of axis " + std::to_string(op.axis));
  size = op.k;
  return Types{{x.dtype, shape, {}}, {DType::kI64, shape, {}}};
}

void structures(const ops::TopK&, StructureCounts& counts) { counts.emplace_back("top_k", 1); }

constexpr std::string_view kInputs[] = {"x"};

}  // namespace

constinit const OpDef top_k_op = {
    .name = "TopK",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::TopK>,
    .infer = As<ops::TopK>::fn<infer>,
    .structures = As<ops::TopK>::fn<structures>,
};

}  // namespace plica
