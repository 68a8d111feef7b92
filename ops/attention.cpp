#include "ops/attention.h"

#include "ops/cost.h"
#include "ops/expect.h"
#include "ops/op.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

Shape leading(const TensorType& type) { return {type.shape.begin(), type.shape.end() - 2}; }

Status check_operands(InTypes in) {
  constexpr std::string_view kWhere[] = {"Attention: q", "Attention: k", "Attention: v"};
  PLICA_CHECK(expect_float(kWhere[0], *in[0]));
  for (size_t i = 0; i < 3; ++i) {
    PLICA_CHECK(expect_dtype(kWhere[i], *in[i], in[0]->dtype));
    PLICA_CHECK(expect_rank(kWhere[i], *in[i], 2));
  }
  const Shape &q = in[0]->shape, &k = in[1]->shape, &v = in[2]->shape;
  if (q.back() == k.back() && k.end()[-2] == v.end()[-2]) return {};
  return Error(Code::kInvalidModel, "Attention: q is " + to_string(q) + ", k is " + to_string(k) + " and v is " +
                                        to_string(v) + ", wanted one width of q and k, one length of k and v");
}

Result<Types> infer(const ops::Attention&, InTypes in) {
  PLICA_CHECK(check_operands(in));
  const DType dtype = in[0]->dtype;
  const int64_t rows = in[0]->shape.end()[-2], keys = in[1]->shape.end()[-2];
  PLICA_TRY(Shape scores, broadcast(leading(*in[0]), leading(*in[1])));
  PLICA_TRY(scores, broadcast(scores, leading(*in[2])));
  Shape shape = scores;
  scores.insert(scores.end(), {rows, keys});
  shape.insert(shape.end(), {rows, in[2]->shape.back()});
  PLICA_CHECK(expect_operand("Attention: bias", in[3], dtype, scores));
  if (in[4] != nullptr) {
    const DType mask = in[4]->dtype == DType::kBool ? DType::kBool : dtype;
    PLICA_CHECK(expect_operand("Attention: mask", in[4], mask, scores));
  }
  PLICA_CHECK(expect_operand("Attention: gate", in[5], dtype, shape));
  if (in[6] != nullptr) {
    PLICA_CHECK(expect_dtype("Attention: segments", *in[6], DType::kI64));
    if (in[6]->shape.size() != 1 || in[6]->shape[0] < 1 || rows != keys)
      return Error(Code::kInvalidModel, "Attention: segments are " + to_string(in[6]->shape) + " for " +
                                            std::to_string(rows) + " rows and " + std::to_string(keys) +
                                            " keys, wanted one axis and as many rows as keys");
  }
  return Types{{dtype, std::move(shape), {}}};
}

Cost cost(const ops::Attention&, const Case& c) {
  const Shape &q = c.in[0].type->shape, &v = c.in[2].type->shape;
  const auto rows = static_cast<double>(num_rows(c.out[0].type->shape)), keys = static_cast<double>(v.end()[-2]);
  return {rows * keys * (2 * static_cast<double>(q.back() + v.back()) + 5), operand_bytes(c)};
}

void structures(const ops::Attention&, StructureCounts& counts) { counts.emplace_back("attention", 1); }

constexpr std::string_view kInputs[] = {"q", "k", "v", "bias?", "mask?", "gate?", "segments?"};

}  // namespace

constinit const OpDef attention_op = {
    .name = "Attention",
    .inputs = kInputs,
    .attrs = &kAttrsDef<ops::Attention>,
    .infer = As<ops::Attention>::fn<infer>,
    .cost = As<ops::Attention>::fn<cost>,
    .structures = As<ops::Attention>::fn<structures>,
};

}  // namespace plica
