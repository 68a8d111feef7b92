#include <algorithm>

#include "loaders/onnx/ops/tables.h"
#include "ops/one_hot.h"
#include "ops/scatter_elements.h"
#include "ops/scatter_nd.h"
#include "ops/top_k.h"
#include "runtime/core/shape.h"

namespace plica::onnx {
namespace {

using ops::Fn;

Result<ops::ScatterReduction> reduction_of(Lowering& n) {
  PLICA_TRY(const std::string text, string_attribute(n.node(), "reduction", "none"));
  constexpr auto kNames = names_of(ops::ScatterReduction{});
  const auto* found = std::find(kNames.begin(), kNames.end(), text);
  if (found == kNames.end())
    return invalid_model("attribute 'reduction' is '" + text + "', wanted none, add, mul, max or min");
  return static_cast<ops::ScatterReduction>(found - kNames.begin());
}

Status scatter_elements(Lowering& n) {
  ops::ScatterElements scatter;
  PLICA_TRY(scatter.axis, n.axis("axis", 0, n.rank(n.in(0))));
  PLICA_TRY(scatter.reduction, reduction_of(n));
  return n.give(n.emit_one(scatter_elements_op, scatter, {n.in(0), n.in(1), n.in(2)}));
}

Status scatter_nd(Lowering& n) {
  ops::ScatterNd scatter;
  PLICA_TRY(scatter.reduction, reduction_of(n));
  return n.give(n.emit_one(scatter_nd_op, scatter, {n.in(0), n.in(1), n.in(2)}));
}

// Writes `update` into the cache along `axis`, in each batch from a row of its own on.
Status tensor_scatter(Lowering& n) {
  const Id cache = n.in(0), update = n.in(1);
  const int64_t rank = n.rank(cache);
  PLICA_TRY(const int64_t axis, n.axis("axis", -2, rank));
  PLICA_TRY(const std::string mode, string_attribute(n.node(), "mode", "linear"));
  if (axis == 0 || n.rank(update) != rank)
    return invalid_model("the cache is " + to_string(n.shape(cache)) + ", the update " + to_string(n.shape(update)) +
                         ", wanted equal ranks and an axis behind the batch");
  const Shape shape = n.shape(update);
  std::vector<int64_t> steps(static_cast<size_t>(shape[static_cast<size_t>(axis)]));
  for (size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<int64_t>(i);
  Shape along(shape.size(), 1), batches(shape.size(), 1);
  along[static_cast<size_t>(axis)] = static_cast<int64_t>(steps.size());
  batches[0] = shape[0];
  Result<Id> rows = n.reshape(n.int64s(steps), along);
  if (n.has(2)) rows = n.add(n.reshape(n.cast(n.in(2), DType::kI64), batches), rows);
  if (mode == "circular")
    rows = n.call(Fn::kMod, {rows, n.scalar(static_cast<double>(n.size(cache, axis)), DType::kI64)});
  return n.give(
      n.emit_one(scatter_elements_op, ops::ScatterElements{.axis = axis}, {cache, n.expand(rows, shape), update}));
}

Status one_hot(Lowering& n) {
  ops::OneHot one_hot;
  PLICA_TRY(const auto depth, n.known_ints(1));
  if (depth.size() != 1 || depth[0] < 0 || depth[0] > INT32_MAX)
    return invalid_model("the depth has to be one number from 0 to 2147483647");
  one_hot.depth = depth[0];
  PLICA_TRY(one_hot.axis, n.axis("axis", -1, n.rank(n.in(0)) + 1));
  return n.give(n.emit_one(one_hot_op, one_hot, {n.in(0), n.in(2)}));
}

Status give_top_k(Lowering& n, int64_t k) {
  ops::TopK top{.k = k};
  PLICA_TRY(top.axis, n.axis("axis", -1, n.rank(n.in(0))));
  PLICA_TRY(top.largest, n.flag("largest", true));
  PLICA_TRY(top.sorted, n.flag("sorted", true));
  const int64_t limit = n.size(n.in(0), top.axis);
  if (k < 0 || k > limit)
    return Error(Code::kInvalidInput, "k is " + std::to_string(k) + ", but axis " + std::to_string(top.axis) + " has " +
                                          std::to_string(limit) + " elements");
  PLICA_TRY(const Ids outputs, n.emit(top_k_op, top, {n.in(0)}));
  PLICA_CHECK(n.give(0, outputs[0]));
  return n.give(1, outputs[1]);
}

Status top_k_by_attribute(Lowering& n) {
  PLICA_TRY(const int64_t k, n.attr("k", -1));
  return give_top_k(n, k);
}

Status top_k(Lowering& n) {
  PLICA_TRY(const auto k, n.known_ints(1));
  if (k.size() != 1) return invalid_model("k has " + std::to_string(k.size()) + " elements, wanted 1");
  return give_top_k(n, k[0]);
}

constexpr OpRow kRows[] = {
    {"OneHot", 9, 3, one_hot},
    {"Scatter", 9, 3, scatter_elements},
    {"ScatterElements", 11, 3, scatter_elements},
    {"ScatterND", 11, 3, scatter_nd},
    {"TensorScatter", 24, 2, tensor_scatter},
    {"TopK", 1, 1, top_k_by_attribute},
    {"TopK", 10, 2, top_k},
};

}  // namespace

std::span<const OpRow> scatter_rows() { return kRows; }

}  // namespace plica::onnx
