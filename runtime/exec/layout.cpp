#include "runtime/exec/layout.h"

#include "ops/transpose.h"
#include "runtime/core/shape.h"

namespace plica {

Strides preferred_strides(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (value.users.size() != 1 || graph.is_output(id)) return {};
  const Node& user = graph.node(value.users[0]);
  if (user.op != &transpose_op) return {};
  const auto& perm = user.attrs.as<ops::Transpose>().perm;
  const Strides dense = dense_strides(graph.type(user.outputs[0]).shape);
  Strides strides(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) strides[static_cast<size_t>(perm[i])] = dense[i];
  return is_dense({value.type.dtype, value.type.shape, strides}) ? Strides{} : strides;
}

}  // namespace plica
