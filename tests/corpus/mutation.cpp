#include "tests/corpus/mutation.h"

#include <algorithm>
#include <random>

#include "graph/scalar.h"
#include "ops/op.h"
#include "ops/pointwise.h"
#include "ops/reshape.h"
#include "runtime/core/dtype.h"

namespace plica::test {
namespace {

class Mutation {
 public:
  Mutation(const Graph& from, uint64_t seed) : from_(from), random_(seed), to_of_(from.num_values(), kNone) {}

  Result<Graph> run() {
    for (ValueId id : from_.inputs())
      to_of_[static_cast<size_t>(id)] = to_.add_input(from_.value(id).name, from_.type(id));
    for (size_t i = 0; i < from_.num_values(); ++i)
      if (from_.constant(static_cast<ValueId>(i)) != nullptr)
        to_of_[i] = to_.add_constant(from_.value(static_cast<ValueId>(i)).constant);
    PLICA_CHECK(add_nodes());
    for (size_t i = 0; i < from_.outputs().size(); ++i)
      to_.add_output(from_.output_name(i), to_of_[static_cast<size_t>(from_.outputs()[i])]);
    for (const std::string& structure : from_.noted()) to_.note(structure);
    return std::move(to_);
  }

 private:
  bool chance(double probability) { return std::uniform_real_distribution<>(0, 1)(random_) < probability; }

  // Every node that is ready may be next.
  Status add_nodes() {
    std::vector<NodeId> left = from_.order();
    while (!left.empty()) {
      std::vector<size_t> ready;
      for (size_t i = 0; i < left.size() && ready.size() < 8; ++i) {
        const auto& inputs = from_.node(left[i]).inputs;
        if (std::all_of(inputs.begin(), inputs.end(),
                        [&](ValueId v) { return v == kNone || to_of_[static_cast<size_t>(v)] != kNone; }))
          ready.push_back(i);
      }
      const size_t pick = ready[std::uniform_int_distribution<size_t>(0, ready.size() - 1)(random_)];
      PLICA_CHECK(add(from_.node(left[pick])));
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    return {};
  }

  Status add(const Node& node) {
    std::vector<ValueId> inputs;
    for (ValueId input : node.inputs) inputs.push_back(input == kNone ? kNone : to_of_[static_cast<size_t>(input)]);
    if (node.op->commutative && chance(0.5)) std::swap(inputs[0], inputs[1]);
    PLICA_TRY(const NodeId made, to_.add_node(*node.op, node.attrs, std::move(inputs)));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      PLICA_TRY(to_of_[static_cast<size_t>(node.outputs[i])], dressed(to_.node(made).outputs[i]));
    }
    return {};
  }

  // The value behind a step that changes nothing.
  Result<ValueId> dressed(ValueId id) {
    if (!chance(0.3)) return id;
    const TensorType type = to_.type(id);
    const bool is_number = is_float(type.dtype);
    Result<NodeId> node = kNone;
    if (is_number && chance(0.6)) {
      const bool factor = chance(0.5);
      PLICA_TRY(ConstantPtr constant, scalar_constant(factor ? 1 : 0, type.dtype));
      std::vector<ValueId> inputs{id, to_.add_constant(std::move(constant))};
      if (chance(0.5)) std::swap(inputs[0], inputs[1]);
      node = to_.add_node(pointwise_op(factor ? ops::Fn::kMul : ops::Fn::kAdd), ops::Pointwise{}, std::move(inputs));
    } else {
      node = to_.add_node(reshape_op, ops::Reshape{type.shape}, {id});
    }
    if (!node) return node.take_error();
    return to_.node(*node).outputs[0];
  }

  const Graph& from_;
  Graph to_;
  std::mt19937_64 random_;
  std::vector<ValueId> to_of_;
};

}  // namespace

Result<Graph> mutated(const Graph& graph, uint64_t seed) { return Mutation(graph, seed).run(); }

}  // namespace plica::test
