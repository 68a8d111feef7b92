#include "runtime/exec/layout.h"

#include <algorithm>
#include <optional>

#include "ops/attention.h"
#include "ops/reshape.h"
#include "ops/transpose.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {

namespace {

constexpr size_t kBias = 3;  // among its inputs

// Whether the Transpose only swaps the axes of matrices, and products are all that reads them: those read either way.
bool is_for_products(const Graph& graph, const Node& transpose, const std::vector<int64_t>& perm) {
  const size_t rank = perm.size();
  const auto& users = graph.value(transpose.outputs[0]).users;
  for (size_t i = 0; i + 2 < rank; ++i)
    if (perm[i] != static_cast<int64_t>(i)) return false;
  return rank >= 2 && perm[rank - 1] == static_cast<int64_t>(rank) - 2 &&
         std::all_of(users.begin(), users.end(), [&](NodeId id) { return graph.node(id).op == &mat_mul_op; });
}

// Whether attention alone reads it, as its bias, at most through a Reshape that leaves its rows and columns.
bool is_bias(const Graph& graph, ValueId id) {
  const auto& users = graph.value(id).users;
  return !users.empty() && !graph.is_output(id) && std::all_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& node = graph.node(user);
    if (node.op == &attention_op)
      return node.inputs[kBias] == id && std::count(node.inputs.begin(), node.inputs.end(), id) == 1;
    if (node.op != &reshape_op) return false;
    const Shape &from = graph.type(id).shape, &to = graph.type(node.outputs[0]).shape;
    return from.size() >= 2 && to.size() >= 2 && std::equal(from.end() - 2, from.end(), to.end() - 2) &&
           is_bias(graph, node.outputs[0]);
  });
}

// The bytes of a place in each period of that many, [begin, end); nullopt where they are not the same ones in each.
struct Stretch {
  int64_t begin = 0, end = 0;
};
std::optional<Stretch> stretch_in(const Place& place, int64_t period) {
  const auto bytes = static_cast<int64_t>(size_of(place.type.dtype));
  const Strides strides = place.type.strides.empty() ? dense_strides(place.type.shape) : place.type.strides;
  const int64_t begin = place.offset_bytes % period;
  Stretch stretch{begin, begin + bytes};
  for (size_t i = 0; i < strides.size(); ++i) {
    const int64_t step = strides[i] * bytes, size = place.type.shape[i];
    if (size == 1 || (step > 0 && step % period == 0)) continue;
    if (step < 0 || step > period) return std::nullopt;
    stretch.end += (size - 1) * step;
  }
  return stretch.end <= period ? std::optional(stretch) : std::nullopt;
}

}  // namespace

Strides preferred_strides(const Graph& graph, ValueId id, int64_t row_bytes) {
  const Value& value = graph.value(id);
  if (value.users.size() != 1 || graph.is_output(id)) return {};
  const Node& user = graph.node(value.users[0]);
  if (user.op != &transpose_op) return {};
  const auto& perm = user.attrs.as<ops::Transpose>().perm;
  if (is_for_products(graph, user, perm)) return {};
  Shape shape = graph.type(user.outputs[0]).shape;
  if (is_bias(graph, user.outputs[0])) {
    const int64_t whole = std::max<int64_t>(row_bytes / static_cast<int64_t>(size_of(value.type.dtype)), 1);
    shape.back() = (shape.back() + whole - 1) / whole * whole;
  }
  const Strides dense = dense_strides(shape);
  Strides strides(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) strides[static_cast<size_t>(perm[i])] = dense[i];
  return is_dense({value.type.dtype, value.type.shape, strides}) ? Strides{} : strides;
}

size_t extent_bytes(const TensorType& type) {
  if (type.strides.empty() || num_elements(type.shape) == 0) return num_bytes(type);
  int64_t last = 0;
  for (size_t i = 0; i < type.strides.size(); ++i) last += (type.shape[i] - 1) * type.strides[i];
  return static_cast<size_t>(last + 1) * size_of(type.dtype);
}

bool has_elements_apart(const TensorType& type) {
  const Strides strides = type.strides.empty() ? dense_strides(type.shape) : type.strides;
  std::vector<std::pair<int64_t, int64_t>> axes;  // stride, size
  for (size_t i = 0; i < strides.size(); ++i)
    if (type.shape[i] > 1) axes.emplace_back(strides[i], type.shape[i]);
  std::sort(axes.begin(), axes.end());
  int64_t extent = 0;  // from the first element to the last along the axes so far
  for (const auto& [stride, size] : axes) {
    if (stride <= extent) return false;
    extent += stride * (size - 1);
  }
  return true;
}

bool may_overlap(const Place& a, const Place& b) {
  const auto are_apart = [&](int64_t period) {
    const auto of_a = stretch_in(a, period), of_b = stretch_in(b, period);
    return of_a && of_b && (of_a->end <= of_b->begin || of_b->end <= of_a->begin);
  };
  constexpr int64_t kWholeMemory = int64_t{1} << 62;
  if (are_apart(kWholeMemory)) return false;
  return std::none_of(a.type.strides.begin(), a.type.strides.end(), [&](int64_t stride) {
    return stride > 0 && are_apart(stride * static_cast<int64_t>(size_of(a.type.dtype)));
  });
}

}  // namespace plica
