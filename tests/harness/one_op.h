#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <concepts>
#include <map>

#include "loaders/onnx/lower.h"
#include "loaders/onnx/lowering.h"
#include "ops/evaluate.h"
#include "tests/harness/onnx_model.h"

namespace plica::onnx {

// Runs a lowered graph node by node, each by its reference kernel.
inline Result<std::vector<Tensor>> interpret(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::map<plica::ValueId, Tensor> made;
  for (size_t i = 0; i < inputs.size(); ++i) made[graph.inputs()[i]] = inputs[i];
  const auto view = [&](plica::ValueId id) -> TensorView {
    if (id == kNone) return {};
    const plica::Constant* constant = graph.constant(id);
    return constant ? TensorView{constant->type, const_cast<void*>(constant->data)} : made.at(id).view();
  };
  for (const NodeId id : graph.order()) {
    const plica::Node& node = graph.node(id);
    std::vector<TensorView> operands;
    for (const plica::ValueId input : node.inputs) operands.push_back(view(input));
    PLICA_TRY(std::vector<Tensor> results, evaluate(*node.op, node.attrs, operands));
    for (size_t i = 0; i < results.size(); ++i) made[node.outputs[i]] = std::move(results[i]);
  }
  std::vector<Tensor> outputs;
  for (const plica::ValueId id : graph.outputs()) {
    const TensorView output = view(id);
    PLICA_TRY(Tensor copy, Tensor::zeros(output.type.dtype, output.type.shape));
    std::copy_n(static_cast<const char*>(output.data), copy.num_bytes(), copy.as<char>());
    outputs.push_back(std::move(copy));
  }
  return outputs;
}

template <class T>
int element_type() {
  if constexpr (std::is_same_v<T, float>) return proto::TensorProto::FLOAT;
  if constexpr (std::is_same_v<T, double>) return proto::TensorProto::DOUBLE;
  if constexpr (std::is_same_v<T, int32_t>) return proto::TensorProto::INT32;
  if constexpr (std::is_same_v<T, uint8_t>) return proto::TensorProto::BOOL;
  return proto::TensorProto::INT64;
}

// A model of one node, to be lowered and run. Inputs in order: input() and constant() add the next one.
class OneOp {
 public:
  explicit OneOp(const std::string& type, int64_t opset = 17, size_t num_outputs = 1) : model_(empty_model(opset, 8)) {
    node_ = &add_node(graph(), type, {}, {});
    node_->set_name("the_node");
    for (size_t i = 0; i < num_outputs; ++i) {
      node_->add_output("y" + std::to_string(i));
      add_output(graph(), "y" + std::to_string(i));
    }
  }

  OneOp(const OneOp& other) : model_(other.model_), node_(graph().mutable_node(0)), inputs_(other.inputs_) {}

  template <class T>
  OneOp& input(Shape shape, const std::vector<T>& elements) {
    const std::string name = "x" + std::to_string(node_->input_size());
    auto& info = *graph().add_input();
    info.set_name(name);
    info.mutable_type()->mutable_tensor_type()->set_elem_type(element_type<T>());
    node_->add_input(name);
    Tensor tensor = *Tensor::zeros(dtype_of<T>(), std::move(shape));
    std::copy(elements.begin(), elements.end(), tensor.as<T>());
    inputs_.push_back(std::move(tensor));
    return *this;
  }
  // 0, 1, 2, ... times `step`
  OneOp& counted(Shape shape, float step = 1) {
    std::vector<float> elements(static_cast<size_t>(num_elements(shape)));
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i) * step;
    return input<float>(std::move(shape), elements);
  }
  template <class T>
  OneOp& constant(Shape shape, const std::vector<T>& elements) {
    const std::string name = "c" + std::to_string(node_->input_size());
    *graph().add_initializer() = raw_tensor<T>(name, element_type<T>(), shape, elements);
    node_->add_input(name);
    return *this;
  }
  OneOp& ints(const std::vector<int64_t>& elements) {
    return constant<int64_t>({static_cast<int64_t>(elements.size())}, elements);
  }
  OneOp& absent() {
    node_->add_input("");
    return *this;
  }
  template <std::integral T>
  OneOp& attr(const std::string& name, T value) {
    add_int(*node_, name, value);
    return *this;
  }
  OneOp& attr(const std::string& name, float value) {
    add_attribute(*node_, name, proto::AttributeProto::FLOAT).set_f(value);
    return *this;
  }
  OneOp& attr(const std::string& name, const std::string& value) {
    add_attribute(*node_, name, proto::AttributeProto::STRING).set_s(value);
    return *this;
  }
  OneOp& attr(const std::string& name, const std::vector<int64_t>& values) {
    auto& attribute = add_attribute(*node_, name, proto::AttributeProto::INTS);
    for (const int64_t value : values) attribute.add_ints(value);
    return *this;
  }

  proto::GraphProto& graph() { return *model_.mutable_graph(); }
  proto::NodeProto& node() { return *node_; }
  proto::ModelProto& model() { return model_; }

  // Binds the values of inputs where the lowering asks for them.
  Result<Graph> lower() {
    PLICA_TRY(module_, read(model_));
    Signature signature;
    for (const Tensor& input : inputs_) signature.inputs.push_back(input.type());
    signature.values.resize(inputs_.size());
    while (true) {
      PLICA_TRY(auto lowered, onnx::lower(module_, signature));
      if (auto* graph = std::get_if<Graph>(&lowered)) return std::move(*graph);
      for (const int i : std::get<NeedsValues>(lowered).inputs)
        signature.values[static_cast<size_t>(i)] = inputs_[static_cast<size_t>(i)];
    }
  }
  Result<std::vector<Tensor>> run() {
    PLICA_TRY(const Graph graph, lower());
    PLICA_CHECK(graph.verify());
    return interpret(graph, inputs_);
  }

 private:
  template <class T>
  static DType dtype_of() {
    if constexpr (std::is_same_v<T, float>) return DType::kF32;
    if constexpr (std::is_same_v<T, double>) return DType::kF64;
    if constexpr (std::is_same_v<T, int32_t>) return DType::kI32;
    if constexpr (std::is_same_v<T, uint8_t>) return DType::kBool;
    return DType::kI64;
  }

  proto::ModelProto model_;
  proto::NodeProto* node_;
  std::vector<Tensor> inputs_;
  Module module_;
};

// The first result as numbers, and its shape; a failure of the test where there is none.
struct Numbers {
  Shape shape;
  std::vector<double> values;
};
inline Numbers numbers(const Tensor& tensor) {
  return {tensor.shape(), to_doubles({tensor.type(), tensor.data(), nullptr, ""})};
}
inline Numbers first(OneOp& op) {
  auto outputs = op.run();
  EXPECT_TRUE(outputs) << to_string(outputs.error());
  return outputs ? numbers(outputs->front()) : Numbers{};
}
inline Numbers first(OneOp&& op) { return first(op); }
inline std::string error_of(OneOp& op) {
  auto outputs = op.run();
  return outputs ? "" : to_string(outputs.error());
}
inline std::string error_of(OneOp&& op) { return error_of(op); }

}  // namespace plica::onnx
