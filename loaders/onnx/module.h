#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "plica/tensor.h"

namespace plica::onnx {

// An ONNX file as a compact, immutable struct. Model-local functions are inlined, nodes that no output needs are gone,
// Constant nodes are constants; everything else is as the file says, in the file's order (which is topological).

using ValueId =
    int32_t;  // index into Module::values; one numbering for the whole file, bodies of If, Loop and Scan included
constexpr ValueId kNoValue = -1;  // an optional operand that is left out

// A weight, or the value of a tensor attribute. Its index in Module::constants is its identity: the key of whatever is
// derived from it. Data is aligned to the element size.
struct Constant {
  std::string name;
  TensorType type;             // dense
  const void* data = nullptr;  // valid while the Module, or a copy of `owner`, lives
  std::shared_ptr<const void> owner;
  std::string
      problem;  // not empty: why the value cannot be used (a string tensor, float8 ...); type and data mean nothing

  TensorView view() const { return {type, const_cast<void*>(data)}; }
};

struct TensorAttribute {
  int32_t constant;  // index into Module::constants
};
struct GraphAttribute {
  int32_t body;  // index into Module::bodies
};
struct UnreadAttribute {
  std::string_view kind;  // what stands there: "type", "sparse tensor", "tensors", "graphs"
};

using AttributeValue = std::variant<float, int64_t, std::string, std::vector<float>, std::vector<int64_t>,
                                    std::vector<std::string>, TensorAttribute, GraphAttribute, UnreadAttribute>;

struct Attribute {
  std::string name;
  AttributeValue value;
};

struct Node {
  int32_t op = 0;                // index into Module::ops
  int64_t version = 0;           // of the operator set in force where the node stands
  std::string name;              // may be empty; "call/inner" for a node of an inlined function
  std::vector<ValueId> inputs;   // without kNoValue at the end
  std::vector<ValueId> outputs;  // kNoValue where nothing is wanted
  std::vector<Attribute> attributes;

  const Attribute* find(std::string_view attribute) const;
};

struct Op {
  std::string domain;  // "" is ONNX's own ("ai.onnx")
  std::string type;
};

struct Dim {
  int64_t size = -1;  // -1: not fixed
  std::string name;   // of a symbolic size; empty where nothing is known
};

// The declared type of a graph's input or output.
struct ValueType {
  std::string_view kind =
      "tensor";              // or "sequence", "optional", "map", "sparse tensor", "opaque"; "" when not declared
  bool known_dtype = false;  // false also for element types outside DType: see dtype_name
  DType dtype = DType::kF32;
  std::string dtype_name;  // in ONNX's spelling: "float", "string", "float8e4m3fn"
  bool ranked = false;     // false: dims mean nothing
  std::vector<Dim> dims;
};

struct Value {
  std::string name;
  int32_t constant = -1;  // index into Module::constants
};

// The file's main graph, or a body of If, Loop or Scan; a body may read values of the graphs around it.
struct Body {
  struct Port {
    ValueId value;
    std::string name;
    ValueType type;
  };
  std::string name;
  std::vector<Port> inputs;   // without those that an initializer fills
  std::vector<Port> outputs;  // may name an input, a constant, or one value twice
  std::vector<Node> nodes;
};

struct Module {
  int64_t ir_version = 0;
  std::string producer;  // "pytorch 2.4.0"
  std::string domain;
  int64_t model_version = 0;
  std::vector<std::pair<std::string, int64_t>> opsets;  // domain, version
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::string> warnings;

  std::vector<Op> ops;
  std::vector<Value> values;
  std::vector<Constant> constants;
  std::vector<Body> bodies;       // bodies[0] is the main graph
  int64_t num_dropped_nodes = 0;  // that no output needs

  int64_t bytes_mapped = 0;  // of constants that stay in the mapped file
  int64_t bytes_copied = 0;  // of constants in memory of their own

  const Body& main() const { return bodies.front(); }
  const Op& op_of(const Node& node) const { return ops[static_cast<size_t>(node.op)]; }
  std::string_view name_of(ValueId value) const {
    return value == kNoValue ? std::string_view() : values[static_cast<size_t>(value)].name;
  }
};

// "node 'enc/0/attn' (Softmax, opset 13)", for messages. A node without a name is called by its first output.
std::string describe(const Module& module, const Node& node);

// The value of an attribute, or `absent` where the node does not have it; kInvalidModel where it has another type.
Result<int64_t> int_attribute(const Node& node, std::string_view name, int64_t absent);
Result<float> float_attribute(const Node& node, std::string_view name, float absent);
Result<std::string> string_attribute(const Node& node, std::string_view name, std::string_view absent);
Result<std::vector<int64_t>> ints_attribute(const Node& node, std::string_view name, std::vector<int64_t> absent = {});
Result<std::vector<float>> floats_attribute(const Node& node, std::string_view name, std::vector<float> absent = {});

struct ReadOptions {
  bool map_files = true;  // false: read files into memory, for file systems that truncate mapped files
};

// Reads the file at `path` and the external data files in its folder. kInvalidInput where the file cannot be read,
// kInvalidModel with the place where it breaks the format.
Result<Module> read_module(const std::string& path, const ReadOptions& options = {});

}  // namespace plica::onnx
