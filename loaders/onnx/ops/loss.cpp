#include <algorithm>
#include <numeric>

#include "loaders/onnx/ops/tables.h"
#include "ops/gather.h"
#include "ops/gather_elements.h"
#include "ops/softmax.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

using ops::Fn;
using ops::ReduceKind;

Result<Id> sum_all(Lowering& n, Id x) {
  std::vector<int64_t> axes(static_cast<size_t>(n.rank(x)));
  std::iota(axes.begin(), axes.end(), 0);
  return n.reduce(ReduceKind::kSum, x, std::move(axes), false);
}

// -log_prob[n, target[n, d...], d...] * weight[target], reduced as the node says. log_prob is (N, C, d...).
Result<Id> likelihood_loss(Lowering& n, Id log_prob) {
  PLICA_TRY(const std::string reduction, string_attribute(n.node(), "reduction", "mean"));
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return invalid_model("attribute 'reduction' is '" + reduction + "', wanted none, sum or mean");
  PLICA_TRY(Id target, n.cast(n.in(1), DType::kI64));
  const Shape shape = n.shape(target);
  if (shape.empty() || n.rank(log_prob) != n.rank(target) + 1)
    return invalid_model("the scores are " + to_string(n.shape(log_prob)) + ", the targets " + to_string(shape) +
                         ", wanted one axis less");
  const DType dtype = n.dtype(log_prob);
  Id kept = kNone;  // where the target is not the one to ignore
  if (n.node().find("ignore_index") != nullptr) {
    PLICA_TRY(const int64_t ignored, n.attr("ignore_index", 0));
    PLICA_TRY(kept,
              n.call(Fn::kNot, {n.call(Fn::kEqual, {target, n.scalar(static_cast<double>(ignored), DType::kI64)})}));
    PLICA_TRY(target, n.call(Fn::kWhere, {kept, target, n.scalar(0, DType::kI64)}));
  }
  Result<Id> weight = n.has(2) ? n.emit_one(gather_op, ops::Gather{0}, {n.in(2), target}) : n.full(1, dtype, shape);
  if (kept != kNone) weight = n.call(Fn::kWhere, {kept, weight, n.scalar(0, dtype)});
  PLICA_TRY(const Id weights, weight);
  Shape column = shape;
  column.insert(column.begin() + 1, 1);
  const Result<Id> picked =
      n.emit_one(gather_elements_op, ops::GatherElements{1}, {log_prob, n.reshape(target, column)});
  PLICA_TRY(const Id loss, n.mul(n.call(Fn::kNeg, {n.reshape(picked, shape)}), weights));
  if (reduction == "none") return loss;
  if (reduction == "sum") return sum_all(n, loss);
  return n.div(sum_all(n, loss), sum_all(n, weights));
}

Status negative_log_likelihood_loss(Lowering& n) { return n.give(likelihood_loss(n, n.in(0))); }

Status softmax_cross_entropy_loss(Lowering& n) {
  const Id scores = n.in(0);
  if (n.rank(scores) < 2)
    return invalid_model("the scores are " + to_string(n.shape(scores)) + ", wanted two axes or more");
  std::vector<int64_t> classes_last(static_cast<size_t>(n.rank(scores)));
  std::iota(classes_last.begin(), classes_last.end(), 0);
  std::vector<int64_t> back = classes_last;
  std::rotate(classes_last.begin() + 1, classes_last.begin() + 2, classes_last.end());
  std::rotate(back.begin() + 1, back.end() - 1, back.end());
  const Result<Id> rows = n.emit_one(softmax_op, ops::Softmax{.log = true}, {n.transpose(scores, classes_last)});
  PLICA_TRY(const Id log_prob, n.transpose(rows, back));
  PLICA_CHECK(n.give(1, log_prob));
  return n.give(likelihood_loss(n, log_prob));
}

constexpr OpRow kRows[] = {
    {"NegativeLogLikelihoodLoss", 12, 2, negative_log_likelihood_loss},
    {"SoftmaxCrossEntropyLoss", 12, 2, softmax_cross_entropy_loss},
};

}  // namespace

std::span<const OpRow> loss_rows() { return kRows; }

}  // namespace plica::onnx
