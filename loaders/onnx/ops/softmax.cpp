#include "ops/softmax.h"

#include <numeric>

#include "loaders/onnx/ops/tables.h"
#include "ops/arg_reduce.h"
#include "ops/one_hot.h"

namespace plica::onnx {
namespace {

// fn of x with `axis` moved to the end, moved back.
template <class Function>
Result<Id> on_last_axis(Lowering& n, Id x, int64_t axis, Function&& fn) {
  std::vector<int64_t> swap(static_cast<size_t>(n.rank(x)));
  std::iota(swap.begin(), swap.end(), 0);
  if (!swap.empty()) std::swap(swap[static_cast<size_t>(axis)], swap.back());
  return n.transpose(fn(n.transpose(x, swap)), swap);
}

// Before version 13: over all axes from `axis` on, as one.
template <class Function>
Result<Id> on_flattened(Lowering& n, Id x, int64_t axis, Function&& fn) {
  const Shape shape = n.shape(x);
  Shape flat(shape.begin(), shape.begin() + axis);
  flat.push_back(std::accumulate(shape.begin() + axis, shape.end(), int64_t{1}, std::multiplies<>()));
  return n.reshape(fn(n.reshape(x, std::move(flat))), shape);
}

template <class Function>
Status along(Lowering& n, Function&& fn) {
  const Id x = n.in(0);
  const bool flattens = n.version() < 13;
  if (n.rank(x) == 0) return n.give(n.reshape(fn(n.reshape(x, {1})), {}));
  PLICA_TRY(const int64_t axis, n.axis("axis", flattens ? 1 : -1, n.rank(x)));
  return n.give(flattens ? on_flattened(n, x, axis, fn) : on_last_axis(n, x, axis, fn));
}

template <bool kLog>
Status softmax(Lowering& n) {
  return along(n, [&](Result<Id> x) { return n.emit_one(softmax_op, ops::Softmax{kLog}, {std::move(x)}); });
}

// One at the first of the largest elements, zero elsewhere.
Status hardmax(Lowering& n) {
  return along(n, [&](Result<Id> x) -> Result<Id> {
    if (!x) return x;
    const int64_t last = n.rank(*x) - 1;
    PLICA_TRY(const Id top, n.emit_one(arg_reduce_op, ops::ArgReduce{.axis = last, .keepdims = false}, {x}));
    PLICA_TRY(const Id off, n.reshape(n.scalar_like(0, x), {1}));
    PLICA_TRY(const Id on, n.reshape(n.scalar_like(1, x), {1}));
    return n.emit_one(one_hot_op, ops::OneHot{last, n.size(*x, last)}, {top, n.concat({off, on}, 0)});
  });
}

constexpr OpRow kRows[] = {
    {"Hardmax", 1, 1, hardmax},
    {"LogSoftmax", 1, 1, softmax<true>},
    {"Softmax", 1, 1, softmax<false>},
};

}  // namespace

std::span<const OpRow> softmax_rows() { return kRows; }

}  // namespace plica::onnx
