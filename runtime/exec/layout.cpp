#include "runtime/exec/layout.h"

#include <algorithm>

#include "ops/transpose.h"
#include "runtime/core/shape.h"

namespace plica {

namespace {

// Whether the Transpose only swaps the axes of matrices, and products are all that reads them: those read either way.
bool is_for_products(const Graph& graph, const Node& transpose, const std::vector<int64_t>& perm) {
  const size_t rank = perm.size();
  const auto& users = graph.value(transpose.outputs[0]).users;
  for (size_t i = 0; i + 2 < rank; ++i)
    if (perm[i] != static_cast<int64_t>(i)) return false;
  return rank >= 2 && perm[rank - 1] == static_cast<int64_t>(rank) - 2 &&
         std::all_of(users.begin(), users.end(), [&](NodeId id) { return graph.node(id).op == &mat_mul_op; });
}

}  // namespace

Strides preferred_strides(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.users.size() != 1 || graph.is_output(id)) return {};
  const Node& user = graph.node(value.users[0]);
  if (user.op != &transpose_op) return {};
  const auto& perm = user.attrs.as<ops::Transpose>().perm;
  if (is_for_products(graph, user, perm)) return {};
  const Strides dense = dense_strides(graph.type(user.outputs[0]).shape);
  Strides strides(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) strides[static_cast<size_t>(perm[i])] = dense[i];
  return is_dense({value.type.dtype, value.type.shape, strides}) ? Strides{} : strides;
}

}  // namespace plica
