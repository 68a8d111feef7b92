#include <algorithm>
#include <array>

#include "graph/passes/passes.h"
#include "graph/patch.h"
#include "ops/attention.h"
#include "ops/layer_norm.h"
#include "ops/mat_mul.h"
#include "ops/outer_product_mean.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/rms_norm.h"
#include "ops/rotary.h"
#include "ops/softmax.h"

namespace plica {
namespace {

const std::array kOps = {&attention_op, &layer_norm_op, &mat_mul_op, &outer_product_mean_op,
                         &reduce_op,    &rms_norm_op,   &rotary_op,  &softmax_op};

bool is_half(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

Result<ValueId> cast(Patch& patch, ValueId value, DType dtype) {
  return patch.add(*find_op("Cast"), ops::Cast{dtype}, {value});
}

Status widen(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  Patch patch(graph, node.name);
  std::vector<ValueId> inputs = node.inputs;
  for (ValueId& input : inputs)
    if (input != kNone && is_half(graph.type(input).dtype)) {
      PLICA_TRY(input, cast(patch, input, DType::kF32));
    }
  PLICA_TRY(const ValueId wide, patch.add(*node.op, node.attrs, std::move(inputs)));
  PLICA_TRY(const ValueId y, cast(patch, wide, graph.type(node.outputs[0]).dtype));
  patch.replace(node.outputs[0], y);
  return patch.apply();
}

}  // namespace

// Operators with sums in f16 and bf16 get their operands widened to f32, and their results rounded: kernels for the CPU compute in
// f32, and the values between operators stay what the file says.
Result<int> widen_half(Graph& graph, ConstantStore&) {
  int num_edits = 0;
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (std::ranges::find(kOps, node.op) == kOps.end() || !is_half(graph.type(node.inputs[0]).dtype)) continue;
    PLICA_CHECK(widen(graph, id));
    ++num_edits;
  }
  return num_edits;
}

}  // namespace plica
