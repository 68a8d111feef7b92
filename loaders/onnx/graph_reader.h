#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loaders/onnx/module.h"

namespace plica::onnx {

namespace proto {
class AttributeProto;
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeProto;
class SparseTensorProto;
class TensorProto;
}  // namespace proto

// Where the value of a Constant stands in the parsed file: exactly one is set.
struct ConstantSource {
  const proto::TensorProto* tensor = nullptr;
  const proto::SparseTensorProto* sparse = nullptr;
};

// Turns the graphs of a parsed file into the bodies of a Module. Functions are inlined; constants get their identity,
// and their sources are noted, but their data is not yet read.
class GraphReader {
 public:
  // Both outlive the reader.
  GraphReader(const proto::ModelProto& model, Module& module);
  ~GraphReader();

  // Fills ops, values, bodies and the names of constants. kInvalidModel, naming the node, where a value is used before it
  // is made, made twice or never, a function calls itself, an attribute has no value ...
  Status read();

  // One for each of Module::constants; valid while the reader lives.
  const std::vector<ConstantSource>& sources() const { return sources_; }

 private:
  struct Frame;
  using Opsets = std::unordered_map<std::string_view, int64_t>;

  Result<int32_t> read_graph(const proto::GraphProto& graph, const Frame* outer);
  Status read_initializers(const proto::GraphProto& graph, Frame& frame);
  Status read_ports(const proto::GraphProto& graph, Frame& frame, Body& body);
  template <class Nodes>
  Status read_nodes(const Nodes& nodes, Frame& frame, Body& body);
  Status read_node(const proto::NodeProto& node, Frame& frame, Body& body);
  Status read_constant_node(const proto::NodeProto& node, Frame& frame);
  Status inline_function(const proto::FunctionProto& function, const proto::NodeProto& call, Frame& frame, Body& body);
  Result<Attribute> read_attribute(const proto::AttributeProto& attribute, const Frame& frame);

  Result<ValueId> define(const std::string& name, Frame& frame, int32_t constant = -1);
  int32_t add_constant(const std::string& name, ConstantSource source);
  int32_t op_id(std::string_view domain, const std::string& type);
  const proto::FunctionProto* function_of(const proto::NodeProto& node) const;
  Status spend(size_t amount);

  const proto::ModelProto& model_;
  Module& module_;
  Opsets opsets_;
  std::unordered_map<std::string, const proto::FunctionProto*> functions_;
  std::unordered_map<std::string, int32_t> op_ids_;
  std::unordered_map<const void*, int32_t> constant_ids_;  // by the message that holds the value
  std::unordered_map<const void*, std::unique_ptr<proto::TensorProto>>
      made_tensors_;  // of Constant nodes without a tensor
  std::vector<ConstantSource> sources_;
  size_t budget_;  // how much inlining may still add
};

}  // namespace plica::onnx
