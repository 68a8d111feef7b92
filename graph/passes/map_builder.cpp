#include "graph/passes/map_builder.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "graph/scalar.h"
#include "ops/map.h"
#include "ops/pointwise.h"
#include "ops/reshape.h"
#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

// A scalar constant whose value a double holds.
std::optional<double> immediate(const Graph& graph, ValueId id) {
  const Constant* constant = graph.constant(id);
  if (constant == nullptr || num_elements(constant->type.shape) != 1) return std::nullopt;
  const auto value = uniform_value(*constant);
  if (value && is_integer(constant->type.dtype) && std::abs(*value) > 9007199254740992.0) return std::nullopt;
  return value;
}

bool is_made_in(const Graph& graph, std::span<const NodeId> group, ValueId id) {
  return std::find(group.begin(), group.end(), graph.value(id).producer) != group.end();
}

// What a group reads from outside, in the order of use. A node all of whose operands are numbers keeps its first.
std::vector<ValueId> inputs_of(const Graph& graph, std::span<const NodeId> group) {
  std::vector<ValueId> inputs;
  for (NodeId id : group) {
    const auto& operands = graph.node(id).inputs;
    const bool numbers =
        std::all_of(operands.begin(), operands.end(), [&](ValueId v) { return immediate(graph, v).has_value(); });
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool reads =
          !is_made_in(graph, group, operands[i]) && ((numbers && i == 0) || !immediate(graph, operands[i]));
      if (reads && std::find(inputs.begin(), inputs.end(), operands[i]) == inputs.end()) inputs.push_back(operands[i]);
    }
  }
  return inputs;
}

ops::Program program_of(const Graph& graph, std::span<const NodeId> group, const std::vector<ValueId>& inputs) {
  ops::Program program;
  program.num_inputs = static_cast<int>(inputs.size());
  std::unordered_map<ValueId, int16_t> registers;
  for (size_t i = 0; i < inputs.size(); ++i) registers[inputs[i]] = static_cast<int16_t>(i);
  for (NodeId id : group) {
    const Node& node = graph.node(id);
    int16_t operands[3] = {0, 0, 0};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (const auto found = registers.find(node.inputs[i]); found != registers.end()) {
        operands[i] = found->second;
        continue;
      }
      program.immediates.push_back(*immediate(graph, node.inputs[i]));
      operands[i] = static_cast<int16_t>(-static_cast<int>(program.immediates.size()));
    }
    registers[node.outputs[0]] = static_cast<int16_t>(inputs.size() + program.instructions.size());
    program.instructions.push_back(
        {fn_of(*node.op), graph.type(node.outputs[0]).dtype, operands[0], operands[1], operands[2]});
  }
  return program;
}

}  // namespace

size_t num_map_inputs(const Graph& graph, std::span<const NodeId> group) { return inputs_of(graph, group).size(); }

Result<ValueId> add_map(Patch& patch, std::span<const NodeId> group) {
  const std::vector<ValueId> inputs = inputs_of(patch.graph(), group);
  const TensorType wanted = patch.graph().type(patch.graph().node(group.back()).outputs[0]);
  PLICA_TRY(ValueId y, patch.add(map_op, ops::Map{program_of(patch.graph(), group, inputs)}, inputs));
  if (patch.graph().type(y) == wanted) return y;
  // A constant of one element had more axes than the rest: the result gets them back.
  return patch.add(reshape_op, ops::Reshape{wanted.shape}, {y});
}

}  // namespace plica
