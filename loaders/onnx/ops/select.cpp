#include <algorithm>
#include <numeric>

#include "loaders/onnx/ops/tables.h"
#include "ops/gather.h"
#include "ops/gather_elements.h"
#include "runtime/core/shape.h"

// Operators whose result has as many elements as a value says: that value has to be known.
namespace plica::onnx {
namespace {

using ops::Fn;

// A matrix (rank, count): the place of each element that is not zero, in row-major order.
Status non_zero(Lowering& n) {
  PLICA_TRY(const auto elements, n.known_doubles(0));
  const Shape shape = n.shape(n.in(0));
  std::vector<int64_t> places;
  for (size_t i = 0; i < elements.size(); ++i)
    if (elements[i] != 0) places.push_back(static_cast<int64_t>(i));
  const auto count = static_cast<int64_t>(places.size());
  PLICA_TRY(Tensor out, Tensor::zeros(DType::kI64, {static_cast<int64_t>(shape.size()), count}));
  const Strides steps = dense_strides(shape);
  for (size_t axis = 0; axis < shape.size(); ++axis)
    for (size_t i = 0; i < places.size(); ++i)
      out.as<int64_t>()[axis * places.size() + i] = places[i] / steps[axis] % shape[axis];
  return n.give(n.constant(std::move(out)));
}

Status compress(Lowering& n) {
  PLICA_TRY(const auto condition, n.known_ints(1));
  std::vector<int64_t> chosen;
  for (size_t i = 0; i < condition.size(); ++i)
    if (condition[i] != 0) chosen.push_back(static_cast<int64_t>(i));
  Result<Id> x = n.in(0);
  int64_t axis = 0;
  if (n.node().find("axis") == nullptr) {
    x = n.reshape(x, {num_elements(n.shape(n.in(0)))});
  } else {
    PLICA_TRY(axis, n.axis("axis", 0, n.rank(n.in(0))));
  }
  return n.give(n.emit_one(gather_op, ops::Gather{axis}, {x, n.int64s(chosen)}));
}

// The first sizes[b] steps of batch b in reverse order.
Status reverse_sequence(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const int64_t batch_axis, n.axis("batch_axis", 1, n.rank(x)));
  PLICA_TRY(const int64_t time_axis, n.axis("time_axis", 0, n.rank(x)));
  const Shape shape = n.shape(x);
  Shape batches(shape.size(), 1), times(shape.size(), 1);
  batches[static_cast<size_t>(batch_axis)] = n.size(x, batch_axis);
  times[static_cast<size_t>(time_axis)] = n.size(x, time_axis);
  std::vector<int64_t> steps(static_cast<size_t>(n.size(x, time_axis)));
  std::iota(steps.begin(), steps.end(), 0);
  PLICA_TRY(const Id step, n.reshape(n.int64s(steps), times));
  PLICA_TRY(const Id size, n.reshape(n.cast(n.in(1), DType::kI64), batches));
  const Result<Id> mirrored = n.sub(n.sub(size, n.scalar(1, DType::kI64)), step);
  const Result<Id> from = n.call(Fn::kWhere, {n.call(Fn::kLess, {step, size}), mirrored, step});
  return n.give(n.emit_one(gather_elements_op, ops::GatherElements{time_axis}, {x, n.expand(from, shape)}));
}

// Columns of x, the last axis gathered.
Status array_feature_extractor(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const Id columns, n.reshape(n.in(1), {num_elements(n.shape(n.in(1)))}));
  const Result<Id> chosen = n.emit_one(gather_op, ops::Gather{n.rank(x) - 1}, {x, columns});
  return n.give(n.rank(x) == 1 ? n.reshape(chosen, {1, n.size(columns, 0)}) : chosen);
}

Status binarizer(Lowering& n) {
  PLICA_TRY(const double threshold, n.real("threshold", 0));
  const Id x = n.in(0);
  return n.give(n.cast(n.call(Fn::kLess, {n.scalar_like(threshold, x), x}), n.dtype(x)));
}

constexpr OpRow kRows[] = {
    {"ArrayFeatureExtractor", 1, 2, array_feature_extractor, "ai.onnx.ml"},
    {"Binarizer", 1, 1, binarizer, "ai.onnx.ml"},
    {"Compress", 9, 2, compress},
    {"NonZero", 9, 1, non_zero},
    {"ReverseSequence", 10, 2, reverse_sequence},
};

}  // namespace

std::span<const OpRow> select_rows() { return kRows; }

}  // namespace plica::onnx
