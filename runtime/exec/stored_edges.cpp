#include "runtime/exec/stored_edges.h"

#include <utility>
#include <vector>

#include "ops/pointwise.h"
#include "runtime/core/dtype.h"
#include "runtime/core/result.h"

namespace plica {
namespace {

bool is_stored_otherwise(DType dtype, DType stored) {
  return dtype != stored && is_float(dtype) && dtype != DType::kF64;
}

void store(std::vector<Port>& ports, DType stored) {
  for (Port& port : ports)
    if (is_stored_otherwise(port.dtype, stored)) port.dtype = stored;
}

Result<ValueId> cast(Graph& graph, ValueId id, DType dtype) {
  PLICA_TRY(const NodeId node, graph.add_node(pointwise_op(ops::Fn::kCast), ops::Cast{dtype}, {id}));
  return graph.node(node).outputs[0];
}

// Puts casts between what the caller gives and takes and what the graph was made for.
Status cast_edges(Graph& graph, const std::vector<TensorType>& inputs, DType stored) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId old = graph.inputs()[i];
    if (graph.type(old).dtype == inputs[i].dtype) continue;
    const ValueId given = graph.replace_input(i, inputs[i]);
    PLICA_TRY(const ValueId made, cast(graph, given, graph.type(old).dtype));
    graph.replace_uses(old, made);
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const ValueId old = graph.outputs()[i];
    if (!is_stored_otherwise(graph.type(old).dtype, stored)) continue;
    PLICA_TRY(const ValueId made, cast(graph, old, stored));
    graph.set_output(i, made);
  }
  return {};
}

}  // namespace

std::optional<DType> edge_dtype(Precision precision) {
  switch (precision) {
    case Precision::kFile: return {};
    case Precision::kBf16: return DType::kBF16;
    case Precision::kF16: return DType::kF16;
    default: return DType::kF32;
  }
}

Source with_stored_edges(const Source& source, DType stored) {
  Source changed{source.inputs, source.outputs, nullptr};
  store(changed.inputs, stored);
  store(changed.outputs, stored);
  changed.specialise = [specialise = source.specialise, ports = source.inputs,
                        stored](const Signature& signature) -> Result<std::variant<Graph, NeedsValues>> {
    Signature of_file = signature;
    for (size_t i = 0; i < ports.size(); ++i) {
      if (of_file.inputs[i].dtype == ports[i].dtype) continue;
      of_file.inputs[i].dtype = ports[i].dtype;
      if (i < of_file.values.size() && of_file.values[i])
        return Error(Code::kUnsupported,
                     "input '" + ports[i].name + "' decides shapes: it is wanted as the file has it, " +
                         std::string(name_of(ports[i].dtype)) + ", not as " + std::string(name_of(stored)));
    }
    PLICA_TRY(auto specialised, specialise(of_file));
    if (auto* graph = std::get_if<Graph>(&specialised)) PLICA_CHECK(cast_edges(*graph, signature.inputs, stored));
    return specialised;
  };
  return changed;
}

}  // namespace plica
