#include "ops/gather.h"

#include <algorithm>
#include <optional>

#include "loaders/onnx/ops/tables.h"
#include "ops/gather_elements.h"
#include "ops/gather_nd.h"
#include "runtime/core/dtype.h"

namespace plica::onnx {
namespace {

// Indices that are known are checked here: what lies outside would otherwise be found out in the run.
Status check_indices(Lowering& n, int64_t limit) {
  const plica::Constant* indices = n.graph().constant(n.in(1));
  if (indices == nullptr) return {};
  for (const int64_t index : to_ints(*indices)) {
    if (index >= -limit && index < limit) continue;
    const std::string& table = n.graph().value(n.in(0)).name;
    const std::string found =
        "index " + std::to_string(index) + " is outside the " + std::to_string(limit) + " rows of '" + table + "'; ";
    return Error(Code::kInvalidInput,
                 found + (limit == 0 ? "where these are residues, the sequence is empty"
                                     : "where these are positions, the sequence is too long for the table"));
  }
  return {};
}

// Known indices that run up by even steps: a slice, which is a view. Nullopt where they do not.
struct EvenRun {
  int64_t first = 0, count = 0, step = 1;
};
std::optional<EvenRun> even_run(const plica::Constant& indices, int64_t limit) {
  std::vector<int64_t> values = to_ints(indices);
  if (values.empty()) return std::nullopt;
  for (int64_t& value : values) value += value < 0 ? limit : 0;
  EvenRun run{values[0], static_cast<int64_t>(values.size()), values.size() > 1 ? values[1] - values[0] : 1};
  if (run.step < 1) return std::nullopt;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != run.first + static_cast<int64_t>(i) * run.step) return std::nullopt;
  return run;
}

Result<Id> slice_of_rows(Lowering& n, int64_t axis, const EvenRun& run) {
  const Id x = n.in(0);
  Shape shape = n.shape(x);
  const Shape indices = n.shape(n.in(1));
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, indices.begin(), indices.end());
  return n.reshape(n.slice(x, axis, run.first, run.count, run.step), std::move(shape));
}

// Whether known indices (rows, columns) of three places or more are a function of column - row, and no constant.
bool are_of_differences(const plica::Constant& indices) {
  const Shape& shape = indices.type.shape;
  if (shape.size() != 2 || shape[0] < 2 || shape[1] < 2 || shape[0] + shape[1] < 5) return false;
  const std::vector<int64_t> values = to_ints(indices);
  const auto columns = static_cast<size_t>(shape[1]);
  for (size_t i = columns + 1; i < values.size(); ++i)
    if (i % columns != 0 && values[i] != values[i - columns - 1]) return false;
  return std::any_of(values.begin(), values.end(), [&](int64_t value) { return value != values[0]; });
}

// Rows of a table of weights are embeddings of what the indices name: of residues, or of how far two places are apart.
void note_lookup(Lowering& n, int64_t axis) {
  if (axis != 0 || n.rank(n.in(0)) != 2 || n.rank(n.in(1)) < 1) return;
  if (!is_float(n.dtype(n.in(0))) || n.graph().constant(n.in(0)) == nullptr) return;
  const plica::Constant* indices = n.graph().constant(n.in(1));
  if (indices != nullptr && n.rank(n.in(1)) < 2) return;  // weights in another order
  if (indices == nullptr || !are_of_differences(*indices)) return n.note("embedding");
  n.note("relative_position");
  n.note("relative_position_bias");
}

Status gather(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const int64_t axis, n.axis("axis", 0, n.rank(x)));
  PLICA_CHECK(check_indices(n, n.size(x, axis)));
  note_lookup(n, axis);
  if (const plica::Constant* indices = n.graph().constant(n.in(1))) {
    if (const auto run = even_run(*indices, n.size(x, axis))) return n.give(slice_of_rows(n, axis, *run));
  }
  return n.give(n.emit_one(gather_op, ops::Gather{axis}, {x, n.in(1)}));
}

Status gather_elements(Lowering& n) {
  PLICA_TRY(const int64_t axis, n.axis("axis", 0, n.rank(n.in(0))));
  PLICA_CHECK(check_indices(n, n.size(n.in(0), axis)));
  return n.give(n.emit_one(gather_elements_op, ops::GatherElements{axis}, {n.in(0), n.in(1)}));
}

// Whether the indices (..., depth) name each of the tensors behind the leading axes of x once, as they lie: exporters write
// masks so, where positions are made by broadcasting.
bool names_all_in_order(const plica::Constant& indices, const Shape& x) {
  const auto depth = static_cast<size_t>(indices.type.shape.back());
  if (depth == 0 || depth > x.size()) return false;
  const std::vector<int64_t> values = to_ints(indices);
  const Shape leading(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(depth));
  if (static_cast<int64_t>(values.size()) != num_elements(leading) * static_cast<int64_t>(depth)) return false;
  for (size_t i = 0; i < values.size(); i += depth) {
    int64_t row = 0;
    for (size_t axis = 0; axis < depth; ++axis) {
      const int64_t value = values[i + axis] + (values[i + axis] < 0 ? leading[axis] : 0);
      if (value < 0 || value >= leading[axis]) return false;
      row = row * leading[axis] + value;
    }
    if (row != static_cast<int64_t>(i / depth)) return false;
  }
  return true;
}

Status gather_nd(Lowering& n) {
  PLICA_TRY(const int64_t batch_dims, n.attr("batch_dims", 0));
  const plica::Constant* indices = n.graph().constant(n.in(1));
  if (indices != nullptr && batch_dims == 0 && names_all_in_order(*indices, n.shape(n.in(0)))) {
    const Shape& x = n.shape(n.in(0));
    Shape shape = indices->type.shape;
    const auto depth = static_cast<std::ptrdiff_t>(shape.back());
    shape.pop_back();
    shape.insert(shape.end(), x.begin() + depth, x.end());
    return n.give(n.reshape(n.in(0), std::move(shape)));
  }
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
