#include <algorithm>
#include <numeric>

#include "loaders/onnx/ops/tables.h"
#include "ops/layer_norm.h"
#include "ops/pad.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

using ops::Fn;
using ops::ReduceKind;

// A vector over axis 1 of x, shaped to broadcast.
Result<Id> per_channel(Lowering& n, Id x, Result<Id> vector) {
  Shape shape(static_cast<size_t>(n.rank(x)), 1);
  shape[1] = -1;
  if (vector) shape[1] = num_elements(n.shape(*vector));
  return n.reshape(std::move(vector), std::move(shape));
}

std::vector<int64_t> axes_but_one(int64_t rank, int64_t kept) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != kept) axes.push_back(axis);
  return axes;
}

Status batch_normalization(Lowering& n) {
  const Id x = n.in(0);
  if (n.rank(x) < 2) return invalid_model("the input is " + to_string(n.shape(x)) + ", wanted two axes or more");
  PLICA_TRY(const double eps, n.real("epsilon", 1e-5));
  PLICA_TRY(const double momentum, n.real("momentum", 0.9));
  PLICA_TRY(const bool training, n.flag("training_mode", false));
  Result<Id> mean = n.in(3), variance = n.in(4);
  if (training) {
    const std::vector<int64_t> axes = axes_but_one(n.rank(x), 1);
    mean = n.reduce(ReduceKind::kMean, x, axes, false);
    PLICA_TRY(const Id centred, n.sub(x, per_channel(n, x, mean)));
    variance = n.reduce(ReduceKind::kMean, n.mul(centred, centred), axes, false);
    const auto running = [&](Id old, const Result<Id>& now) {
      return n.add(n.mul(old, n.scalar_like(momentum, old)),
                   n.mul(n.cast(now, n.dtype(old)), n.scalar_like(1 - momentum, old)));
    };
    PLICA_CHECK(n.give(1, running(n.in(3), mean)));
    PLICA_CHECK(n.give(2, running(n.in(4), variance)));
  }
  const DType dtype = n.dtype(x);
  variance = n.cast(variance, dtype);
  const Result<Id> root = n.call(Fn::kSqrt, {n.add(variance, n.scalar(eps, dtype))});
  PLICA_TRY(const Id scale, n.div(n.cast(n.in(1), dtype), root));
  const Result<Id> centred = n.sub(x, per_channel(n, x, n.cast(mean, dtype)));
  return n.give(n.add(n.mul(centred, per_channel(n, x, scale)), per_channel(n, x, n.cast(n.in(2), dtype))));
}

// x (N, C, ...) normalised over each of `groups` groups of channels with all that follows.
Result<Id> grouped_norm(Lowering& n, Id x, int64_t groups, double eps) {
  const Shape shape = n.shape(x);
  if (shape.size() < 2 || groups < 1 || shape[1] % groups != 0)
    return invalid_model("the input is " + to_string(shape) + ", wanted channels in " + std::to_string(groups) +
                         " groups");
  const int64_t width = num_elements(shape) / std::max<int64_t>(1, shape[0] * groups);
  return n.reshape(
      n.emit_one(layer_norm_op, ops::LayerNorm{eps}, {n.reshape(x, {shape[0], groups, width}), kNone, kNone}), shape);
}

Status instance_normalization(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const double eps, n.real("epsilon", 1e-5));
  if (n.rank(x) < 2) return invalid_model("the input is " + to_string(n.shape(x)) + ", wanted two axes or more");
  const Result<Id> y = grouped_norm(n, x, n.size(x, 1), eps);
  return n.give(n.add(n.mul(y, per_channel(n, x, n.in(1))), per_channel(n, x, n.in(2))));
}

// A weight a group as a weight a channel.
Result<Id> repeated(Lowering& n, Id weight, int64_t groups, int64_t channels) {
  return n.reshape(n.expand(n.reshape(weight, {groups, 1}), {groups, channels / groups}), {channels});
}

template <bool kWeightPerGroup>
Status group_normalization(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const double eps, n.real("epsilon", 1e-5));
  PLICA_TRY(const int64_t groups, n.attr("num_groups", 0));
  PLICA_TRY(const Id y, grouped_norm(n, x, groups, eps));
  Result<Id> scale = n.in(1), bias = n.in(2);
  if (kWeightPerGroup) {
    scale = repeated(n, n.in(1), groups, n.size(x, 1));
    bias = repeated(n, n.in(2), groups, n.size(x, 1));
  }
  return n.give(n.add(n.mul(y, per_channel(n, x, scale)), per_channel(n, x, bias)));
}

// x / |x|_p along one axis; zero where the norm is zero.
Status lp_normalization(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const int64_t axis, n.axis("axis", -1, n.rank(x)));
  PLICA_TRY(const int64_t p, n.attr("p", 2));
  if (p != 1 && p != 2) return invalid_model("attribute 'p' is " + std::to_string(p) + ", wanted 1 or 2");
  PLICA_TRY(Id norm, n.reduce(ReduceKind::kSum, p == 1 ? n.call(Fn::kAbs, {x}) : n.mul(x, x), {axis}, true));
  if (p == 2) {
    PLICA_TRY(norm, n.call(Fn::kSqrt, {norm}));
  }
  const Result<Id> zero = n.scalar_like(0, x);
  return n.give(n.call(Fn::kWhere, {n.call(Fn::kEqual, {norm, zero}), zero, n.div(x, norm)}));
}

Status mean_variance_normalization(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(std::vector<int64_t> axes, ints_attribute(n.node(), "axes", {0, 2, 3}));
  for (int64_t& axis : axes) {
    PLICA_TRY(axis, normalise_axis(axis, n.rank(x)));
  }
  std::sort(axes.begin(), axes.end());
  PLICA_TRY(const Id centred, n.sub(x, n.reduce(ReduceKind::kMean, x, axes, true)));
  const Result<Id> deviation = n.call(Fn::kSqrt, {n.reduce(ReduceKind::kMean, n.mul(centred, centred), axes, true)});
  return n.give(n.div(centred, n.add(deviation, n.scalar_like(1e-9, x))));
}

// x / (bias + alpha / size * sum of the squares of the `size` channels around)^beta
Status lrn(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const int64_t size, n.attr("size", 1));
  PLICA_TRY(const double alpha, n.real("alpha", 1e-4));
  PLICA_TRY(const double beta, n.real("beta", 0.75));
  PLICA_TRY(const double bias, n.real("bias", 1));
  if (n.rank(x) < 2 || size < 1)
    return invalid_model("the input is " + to_string(n.shape(x)) + ", wanted two axes or more");
  if (size > 4096) return unsupported("a window of " + std::to_string(size) + " channels");
  ops::Pad pad{std::vector<int64_t>(n.shape(x).size(), 0), std::vector<int64_t>(n.shape(x).size(), 0)};
  pad.before[1] = (size - 1) / 2;
  pad.after[1] = size / 2;
  PLICA_TRY(const Id squares, n.emit_one(pad_op, pad, {n.mul(x, x), kNone}));
  Result<Id> sum = n.slice(squares, 1, 0, n.size(x, 1));
  for (int64_t i = 1; i < size; ++i) sum = n.add(sum, n.slice(squares, 1, i, n.size(x, 1)));
  const Result<Id> base =
      n.add(n.scalar_like(bias, x), n.mul(n.scalar_like(alpha / static_cast<double>(size), x), sum));
  return n.give(n.div(x, n.call(Fn::kPow, {base, n.scalar_like(beta, x)})));
}

constexpr OpRow kRows[] = {
    {"BatchNormalization", 7, 5, batch_normalization},
    {"GroupNormalization", 18, 3, group_normalization<true>},
    {"GroupNormalization", 21, 3, group_normalization<false>},
    {"InstanceNormalization", 6, 3, instance_normalization},
    {"LRN", 1, 1, lrn},
    {"LpNormalization", 1, 1, lp_normalization},
    {"MeanVarianceNormalization", 9, 1, mean_variance_normalization},
};

}  // namespace

std::span<const OpRow> normalization_rows() { return kRows; }

}  // namespace plica::onnx
