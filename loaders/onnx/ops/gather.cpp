#include "ops/gather.h"

#include "loaders/onnx/ops/tables.h"
#include "ops/gather_elements.h"
#include "ops/gather_nd.h"

namespace plica::onnx {
namespace {

// Indices that are known are checked here: what lies outside would otherwise be found out in the run.
Status check_indices(Lowering& n, int64_t limit) {
  const plica::Constant* indices = n.graph().constant(n.in(1));
  if (indices == nullptr) return {};
  for (const int64_t index : to_ints(*indices)) {
    if (index >= -limit && index < limit) continue;
    const std::string& table = n.graph().value(n.in(0)).name;
    return Error(Code::kInvalidInput, "index " + std::to_string(index) + " is outside the " + std::to_string(limit) +
                                          " rows of '" + table +
                                          "'; where these are positions, the sequence is too long for the table");
  }
  return {};
}

// One known index takes a slice: a view.
Result<Id> one_row(Lowering& n, int64_t axis, int64_t index) {
  const Id x = n.in(0);
  Shape shape = n.shape(x);
  const Shape indices = n.shape(n.in(1));
  if (index < 0) index += n.size(x, axis);
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, indices.begin(), indices.end());
  return n.reshape(n.slice(x, axis, index, 1), std::move(shape));
}

Status gather(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const int64_t axis, n.axis("axis", 0, n.rank(x)));
  PLICA_CHECK(check_indices(n, n.size(x, axis)));
  const plica::Constant* indices = n.graph().constant(n.in(1));
  if (indices != nullptr && num_elements(indices->type.shape) == 1)
    return n.give(one_row(n, axis, to_ints(*indices).front()));
  return n.give(n.emit_one(gather_op, ops::Gather{axis}, {x, n.in(1)}));
}

Status gather_elements(Lowering& n) {
  PLICA_TRY(const int64_t axis, n.axis("axis", 0, n.rank(n.in(0))));
  PLICA_CHECK(check_indices(n, n.size(n.in(0), axis)));
  return n.give(n.emit_one(gather_elements_op, ops::GatherElements{axis}, {n.in(0), n.in(1)}));
}

Status gather_nd(Lowering& n) {
  PLICA_TRY(const int64_t batch_dims, n.attr("batch_dims", 0));
  return n.give(n.emit_one(gather_nd_op, ops::GatherNd{batch_dims}, {n.in(0), n.in(1)}));
}

constexpr OpRow kRows[] = {
    {"Gather", 1, 2, gather},
    {"GatherElements", 11, 2, gather_elements},
    {"GatherND", 11, 2, gather_nd},
};

}  // namespace

std::span<const OpRow> gather_rows() { return kRows; }

}  // namespace plica::onnx
