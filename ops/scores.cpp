#include "ops/scores.h"

#include "ops/expect.h"
#include "ops/op.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

Shape leading(const TensorType& type) { return {type.shape.begin(), type.shape.end() - 2}; }

Result<Types> infer(const ops::Scores&, InTypes in) {
  const TensorType &q = *in[0], &k = *in[1];
  PLICA_CHECK(expect_float("Scores: q", q));
  PLICA_CHECK(expect_dtype("Scores: k", k, q.dtype));
  PLICA_CHECK(expect_rank("Scores: q", q, 2));
  PLICA_CHECK(expect_rank("Scores: k", k, 2));
  if (q.shape.back() != k.shape.back())
    return Error(Code::kInvalidModel,
                 "Scores: q is " + to_string(q.shape) + " and k is " + to_string(k.shape) + ", wanted one width");
  PLICA_TRY(Shape shape, broadcast(leading(q), leading(k)));
  shape.insert(shape.end(), {q.shape.end()[-2], k.shape.end()[-2]});
  PLICA_CHECK(expect_operand("Scores: bias", in[2], q.dtype, shape));
  if (in[3] != nullptr) {
    const DType mask = in[3]->dtype == DType::kBool ? DType::kBool : q.dtype;
    PLICA_CHECK(expect_operand("Scores: mask", in[3], mask, shape));
  }
  return Types{{q.dtype, std::move(shape), {}}};
}

constexpr std::string_view kInputs[] = {"q", "k", "bias?", "mask?"};

}  // namespace

constinit const OpDef scores_op = {
    .name = "Scores",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Scores>,
    .infer = As<ops::Scores>::fn<infer>,
};

}  // namespace plica
