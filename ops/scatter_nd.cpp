#include "ops/scatter_nd.h"

#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::ScatterNd& op, InTypes in) {
  const Shape &x = in[0]->shape, &indices = in[1]->shape;
  PLICA_CHECK(expect_dtype("ScatterNd: indices", *in[1], DType::kI64));
  PLICA_CHECK(expect_rank("ScatterNd: indices", *in[1], 1));
  PLICA_CHECK(expect_dtype("ScatterNd: updates", *in[2], in[0]->dtype));
  if (op.reduction != ops::ScatterReduction::kNone) PLICA_CHECK(expect_number("ScatterNd: x", *in[0]));
  if (indices.back() > static_cast<int64_t>(x.size()))
    return Error(Code::kInvalidModel, "ScatterNd: indices are " + to_string(indices) +
                                          ", wanted a last size of at most the rank of x, " + to_string(x));
  Shape wanted(indices.begin(), indices.end() - 1);
  wanted.insert(wanted.end(), x.begin() + indices.back(), x.end());
  PLICA_CHECK(expect_shape("ScatterNd: updates", *in[2], wanted));
  return Types{{in[0]->dtype, x, {}}};
}

constexpr std::string_view kInputs[] = {"x", "indices", "updates"};

}  // namespace

constinit const OpDef scatter_nd_op = {
    .name = "ScatterNd",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::ScatterNd>,
    .infer = As<ops::ScatterNd>::fn<infer>,
};

}  // namespace plica
