#include "ops/gather_nd.h"

#include "ops/expect.h"
#include "ops/op.h"

namespace plica {
namespace {

Result<Types> infer(const ops::GatherNd& op, InTypes in) {
  const Shape &x = in[0]->shape, &indices = in[1]->shape;
  PLICA_CHECK(expect_dtype("GatherNd: indices", *in[1], DType::kI64));
  PLICA_CHECK(expect_rank("GatherNd: indices", *in[1], 1));
  const int64_t depth = op.batch_dims + indices.back();  // axes of x that batch and index take
  bool fits = op.batch_dims >= 0 && op.batch_dims < static_cast<int64_t>(indices.size()) &&
              depth <= static_cast<int64_t>(x.size());
  for (size_t i = 0; fits && i < static_cast<size_t>(op.batch_dims); ++i) fits = x[i] == indices[i];
  if (!fits)
    return Error(Code::kInvalidModel, "GatherNd: x is " + to_string(x) + " and indices are " + to_string(indices) +
                                          ", wanted " + std::to_string(op.batch_dims) +
                                          " equal batch sizes and no more indices than x has axes");
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), x.begin() + depth, x.end());
  return Types{{in[0]->dtype, std::move(shape), {}}};
}

constexpr std::string_view kInputs[] = {"x", "indices"};

}  // namespace

constinit const OpDef gather_nd_op = {
    .name = "GatherNd",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::GatherNd>,
    .infer = As<ops::GatherNd>::fn<infer>,
};

}  // namespace plica
