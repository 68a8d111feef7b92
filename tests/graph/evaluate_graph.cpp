#include "tests/graph/evaluate_graph.h"

#include <cmath>
#include <limits>

#include "graph/passes/passes.h"
#include "graph/scalar.h"
#include "ops/evaluate.h"
#include "runtime/core/dtype.h"

namespace plica::test {

Result<std::vector<Tensor>> evaluate_graph(Graph graph, const std::vector<Tensor>& inputs) {
  ConstantStore constants;
  PLICA_CHECK(expand_scores(graph, constants));
  std::vector<TensorView> views(graph.num_values());
  std::vector<Tensor> owners;
  for (size_t i = 0; i < graph.num_values(); ++i)
    if (const Constant* c = graph.constant(static_cast<ValueId>(i))) views[i] = {c->type, const_cast<void*>(c->data)};
  for (size_t i = 0; i < inputs.size(); ++i) views[static_cast<size_t>(graph.inputs()[i])] = inputs[i].view();
  for (NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    std::vector<TensorView> operands;
    for (ValueId input : node.inputs)
      operands.push_back(input == kNone ? TensorView{} : views[static_cast<size_t>(input)]);
    PLICA_TRY(std::vector<Tensor> results, evaluate(*node.op, node.attrs, operands));
    for (size_t i = 0; i < results.size(); ++i) {
      views[static_cast<size_t>(node.outputs[i])] = results[i].view();
      owners.push_back(std::move(results[i]));
    }
  }
  std::vector<Tensor> outputs;
  for (ValueId output : graph.outputs()) {
    const TensorView& view = views[static_cast<size_t>(output)];
    PLICA_TRY(Tensor tensor, Tensor::zeros(view.type.dtype, view.type.shape));
    std::copy_n(static_cast<const std::byte*>(view.data), tensor.num_bytes(), static_cast<std::byte*>(tensor.data()));
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

Result<std::vector<Tensor>> random_inputs(const Graph& graph, uint64_t seed) {
  std::vector<Tensor> inputs;
  uint64_t state = seed * 0x9e3779b97f4a7c15u;
  for (ValueId id : graph.inputs()) {
    const TensorType& type = graph.type(id);
    PLICA_TRY(Tensor tensor, Tensor::zeros(type.dtype, type.shape));
    for (int64_t i = 0; i < num_elements(type.shape); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const double fraction = static_cast<double>(state >> 40) / static_cast<double>(1 << 24);
      const bool is_bool = type.dtype == DType::kBool;
      set_element(tensor, i,
                  is_float(type.dtype) ? 2 * fraction - 1
                  : is_bool            ? fraction < 0.7
                                       : std::floor(4 * fraction));
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

double difference(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return std::numeric_limits<double>::infinity();
  const ConstantPtr left = make_constant(a, "a"), right = make_constant(b, "b");
  double worst = 0;
  for (int64_t i = 0; i < num_elements(a.shape()); ++i) {
    const double x = element(*left, i), y = element(*right, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double error = std::abs(x - y) / (1 + std::abs(y));
    if (!(error <= worst)) worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }
  return worst;
}

}  // namespace plica::test
