#include <numeric>

#include "loaders/onnx/ops/tables.h"
#include "ops/layer_norm.h"
#include "ops/rms_norm.h"
#include "runtime/core/dtype.h"

namespace plica::onnx {
namespace {

using ops::Fn;
using ops::ReduceKind;

// x with all axes from `axis` on as one.
struct Rows {
  Id x;
  Shape shape;  // of x before
  int64_t axis;
  int64_t width;  // of the last axis now
};

Result<Rows> rows_of(Lowering& n) {
  Rows rows;
  rows.shape = n.shape(n.in(0));
  PLICA_TRY(rows.axis, n.axis("axis", -1, n.rank(n.in(0))));
  const auto split = rows.shape.begin() + rows.axis;
  Shape flat(rows.shape.begin(), split);
  rows.width = std::accumulate(split, rows.shape.end(), int64_t{1}, std::multiplies<>());
  flat.push_back(rows.width);
  PLICA_TRY(rows.x, n.reshape(n.in(0), std::move(flat)));
  return rows;
}

// gamma or beta as a vector of the rows' width, or kNone where it broadcasts in another way.
Result<Id> as_vector(Lowering& n, const Rows& rows, Id weight) {
  if (weight == kNone || num_elements(n.shape(weight)) != rows.width) return kNone;
  const Shape shape = n.shape(weight);
  const size_t inner = rows.shape.size() - static_cast<size_t>(rows.axis);
  for (size_t i = inner; i < shape.size(); ++i)
    if (shape[shape.size() - 1 - i] != 1) return kNone;
  for (size_t i = 0; i < std::min(inner, shape.size()); ++i)
    if (shape[shape.size() - 1 - i] != rows.shape[rows.shape.size() - 1 - i]) return kNone;
  return n.reshape(weight, {rows.width});
}

// The moments that training asks for: mean and 1 / sqrt(var + eps), one an element of the outer axes, in f32.
Status give_moments(Lowering& n, const Rows& rows, double eps) {
  if (!n.wants(1) && !n.wants(2)) return {};
  Shape outer(rows.shape.begin(), rows.shape.begin() + rows.axis);
  outer.resize(rows.shape.size(), 1);
  const std::vector<int64_t> last{rows.axis};
  PLICA_TRY(const Id x, n.cast(rows.x, n.dtype(rows.x) == DType::kF64 ? DType::kF64 : DType::kF32));
  PLICA_TRY(const Id mean, n.reduce(ReduceKind::kMean, x, last, true));
  PLICA_TRY(const Id centred, n.sub(x, mean));
  const Result<Id> variance = n.reduce(ReduceKind::kMean, n.mul(centred, centred), last, true);
  const Result<Id> root = n.call(Fn::kSqrt, {n.add(variance, n.scalar_like(eps, x))});
  PLICA_CHECK(n.give(1, n.reshape(mean, outer)));
  return n.give(2, n.reshape(n.div(n.scalar_like(1, x), root), outer));
}

Status layer_normalization(Lowering& n) {
  PLICA_TRY(const Rows rows, rows_of(n));
  PLICA_TRY(const double eps, n.real("epsilon", 1e-5));
  PLICA_TRY(const Id gamma, as_vector(n, rows, n.in(1)));
  PLICA_TRY(Id beta, as_vector(n, rows, n.in(2)));
  if (gamma == kNone) beta = kNone;
  PLICA_CHECK(give_moments(n, rows, eps));
  Result<Id> y = n.reshape(n.emit_one(layer_norm_op, ops::LayerNorm{eps}, {rows.x, gamma, beta}), rows.shape);
  if (gamma == kNone) y = n.mul(y, n.in(1));
  if (beta == kNone && n.has(2)) y = n.add(y, n.in(2));
  return n.give(y);
}

Status rms_normalization(Lowering& n) {
  PLICA_TRY(const Rows rows, rows_of(n));
  PLICA_TRY(const double eps, n.real("epsilon", 1e-5));
  PLICA_TRY(const Id gamma, as_vector(n, rows, n.in(1)));
  Result<Id> y = n.reshape(n.emit_one(rms_norm_op, ops::RmsNorm{eps}, {rows.x, gamma}), rows.shape);
  if (gamma == kNone) y = n.mul(y, n.in(1));
  return n.give(y);
}

constexpr OpRow kRows[] = {
    {"LayerNormalization", 17, 2, layer_normalization},
    {"RMSNormalization", 23, 2, rms_normalization},
};

}  // namespace

std::span<const OpRow> norm_rows() { return kRows; }

}  // namespace plica::onnx
