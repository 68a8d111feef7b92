#include "loaders/onnx/prune.h"

#include <algorithm>

namespace plica::onnx {
namespace {

class Pruner {
 public:
  explicit Pruner(Module& module) : module_(module), needed_(module.values.size()), used_(module.constants.size()) {}

  // Walks from the outputs back; the graphs around a body come after it, with what it reads of them marked.
  void prune(Body& body) {
    for (const Body::Port& output : body.outputs) need(output.value);
    std::vector<Node> kept;
    for (auto node = body.nodes.rbegin(); node != body.nodes.rend(); ++node) {
      if (!is_needed(*node)) {
        drop(*node);
        continue;
      }
      for (ValueId input : node->inputs) need(input);
      for (const Attribute& attribute : node->attributes) {
        if (const auto* tensor = std::get_if<TensorAttribute>(&attribute.value))
          used_[static_cast<size_t>(tensor->constant)] = true;
        if (const auto* graph = std::get_if<GraphAttribute>(&attribute.value)) prune(body_of(*graph));
      }
      kept.push_back(std::move(*node));
    }
    std::reverse(kept.begin(), kept.end());
    body.nodes = std::move(kept);
  }

  std::vector<bool> used() && { return std::move(used_); }

 private:
  void need(ValueId value) {
    if (value == kNoValue) return;
    needed_[static_cast<size_t>(value)] = true;
    const int32_t constant = module_.values[static_cast<size_t>(value)].constant;
    if (constant >= 0) used_[static_cast<size_t>(constant)] = true;
  }

  bool is_needed(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId output) { return output != kNoValue && needed_[static_cast<size_t>(output)]; });
  }

  void drop(const Node& node) {
    ++module_.num_dropped_nodes;
    for (const Attribute& attribute : node.attributes)
      if (const auto* graph = std::get_if<GraphAttribute>(&attribute.value)) body_of(*graph) = {};
  }

  Body& body_of(GraphAttribute graph) { return module_.bodies[static_cast<size_t>(graph.body)]; }

  Module& module_;
  std::vector<bool> needed_;
  std::vector<bool> used_;
};

}  // namespace

std::vector<bool> prune(Module& module) {
  Pruner pruner(module);
  pruner.prune(module.bodies.front());
  return std::move(pruner).used();
}

}  // namespace plica::onnx
