#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "loaders/onnx/module_bytes.h"
#include "loaders/onnx/proto/onnx-ml.pb.h"
#include "runtime/core/result.h"

namespace plica::onnx {

using Names = std::initializer_list<std::string>;

// A model without nodes, of the given operator set.
inline proto::ModelProto empty_model(int64_t opset = 17, int64_t ir_version = 8) {
  proto::ModelProto model;
  model.set_ir_version(ir_version);
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("test");
  return model;
}

// Works on a GraphProto and a FunctionProto.
template <class Graph>
proto::NodeProto& add_node(Graph& graph, const std::string& op, Names inputs, Names outputs) {
  proto::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  for (const auto& name : inputs) node.add_input(name);
  for (const auto& name : outputs) node.add_output(name);
  return node;
}

inline proto::AttributeProto& add_attribute(proto::NodeProto& node, const std::string& name,
                                            proto::AttributeProto::AttributeType type) {
  proto::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

inline void add_int(proto::NodeProto& node, const std::string& name, int64_t value) {
  add_attribute(node, name, proto::AttributeProto::INT).set_i(value);
}

// A float tensor with these sizes; a negative one is symbolic, "d<index>".
inline void set_type(proto::ValueInfoProto& info, const std::string& name, std::initializer_list<int64_t> dims) {
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(proto::TensorProto::FLOAT);
  tensor.mutable_shape();
  int index = 0;
  for (int64_t size : dims) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (size < 0)
      dim.set_dim_param("d" + std::to_string(index));
    else
      dim.set_dim_value(size);
    ++index;
  }
}

inline void add_input(proto::GraphProto& graph, const std::string& name, std::initializer_list<int64_t> dims) {
  set_type(*graph.add_input(), name, dims);
}

inline void add_output(proto::GraphProto& graph, const std::string& name) { graph.add_output()->set_name(name); }

template <class T>
proto::TensorProto raw_tensor(const std::string& name, int type, std::vector<int64_t> dims,
                              const std::vector<T>& elements) {
  proto::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (int64_t size : dims) tensor.add_dims(size);
  tensor.set_raw_data(elements.data(), elements.size() * sizeof(T));
  return tensor;
}

// A small model with all that the reader walks: initializers, a function, an If with two branches, metadata.
inline proto::ModelProto rich_model() {
  proto::ModelProto model = empty_model(17, 9);
  model.set_doc_string(std::string(300, 'd'));
  model.add_opset_import()->set_domain("own");
  model.mutable_opset_import(1)->set_version(1);
  auto& graph = *model.mutable_graph();
  add_input(graph, "x", {-1, 4});
  add_output(graph, "y");
  *graph.add_initializer() = raw_tensor<float>("w", proto::TensorProto::FLOAT, {4}, {1, 2, 3, 4});
  *graph.add_initializer() = raw_tensor<uint8_t>("c", proto::TensorProto::BOOL, {}, {1});
  add_node(graph, "Scaled", {"x", "w"}, {"s"}).set_domain("own");
  graph.mutable_node(0)->set_name("scaled");
  graph.mutable_node(0)->add_metadata_props()->set_value(std::string(500, 'm'));
  auto& condition = add_node(graph, "If", {"c"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto& body = *add_attribute(condition, branch, proto::AttributeProto::GRAPH).mutable_g();
    body.set_name(branch);
    add_node(body, branch[0] == 't' ? "Neg" : "Abs", {"s"}, {"r"});
    add_output(body, "r");
  }
  auto& function = *model.add_functions();
  function.set_name("Scaled");
  function.set_domain("own");
  function.add_input("a");
  function.add_input("b");
  function.add_output("o");
  function.add_opset_import()->set_version(17);
  auto& constant = add_node(function, "Constant", {}, {"k"});
  *add_attribute(constant, "value", proto::AttributeProto::TENSOR).mutable_t() =
      raw_tensor<float>("", proto::TensorProto::FLOAT, {1}, {0.5f});
  add_node(function, "Mul", {"b", "k"}, {"t"});
  add_node(function, "Mul", {"a", "t"}, {"o"});
  return model;
}

inline Result<Module> read_bytes(const std::string& bytes, const std::string& path = "") {
  PLICA_TRY(const FileBytes file, FileBytes::copy_of(std::as_bytes(std::span(bytes))));
  return read_module(file, path, {});
}

inline Result<Module> read(const proto::ModelProto& model) { return read_bytes(model.SerializeAsString()); }

}  // namespace plica::onnx
