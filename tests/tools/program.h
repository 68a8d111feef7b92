#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "tests/harness/onnx_model.h"
#include "tests/harness/temp_folder.h"

namespace plica {

// The program and a folder that it works in.
class Program : public TempFolder {
 public:
  struct Ended {
    int code = -1;
    std::string out, err;
  };

  // plica ARGUMENTS, as a shell in the folder would run it.
  Ended operator()(const std::string& arguments) const {
    const std::string command = "cd '" + path() + "' && '" PLICA_PROGRAM "' --threads 1 --device " + device() + " " +
                                arguments + " >.out 2>.err </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, get_file(*this / ".out"), get_file(*this / ".err")};
  }

  // PLICA_TEST_DEVICE of the environment, else the CPU.
  static std::string device() {
    const char* given = std::getenv("PLICA_TEST_DEVICE");
    return given != nullptr && *given != 0 ? given : "cpu";
  }

  bool has(const std::string& name) const { return std::filesystem::exists(*this / name); }
};

// A language model with 33 tokens, 40 positions and 4 columns: each row is the token's vector plus the position's plus the
// sum of the tokens' vectors where the mask is 1.
//   input_ids, attention_mask  (B, L)  i64
//   last_hidden_state          (B, L, 4)  f32
inline onnx::proto::ModelProto language_model() {
  using onnx::proto::TensorProto;
  onnx::proto::ModelProto model = onnx::empty_model(17);
  auto& graph = *model.mutable_graph();
  for (const char* name : {"input_ids", "attention_mask"}) {
    onnx::add_input(graph, name, {-1, -1});
    graph.mutable_input(graph.input_size() - 1)
        ->mutable_type()
        ->mutable_tensor_type()
        ->set_elem_type(TensorProto::INT64);
  }
  onnx::set_type(*graph.add_output(), "last_hidden_state", {-1, -1, 4});
  std::vector<float> tokens(33 * 4);
  std::vector<float> positions(40 * 4);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<float>(i % 5) / 4;
  *graph.add_initializer() = onnx::raw_tensor("tokens", TensorProto::FLOAT, {33, 4}, tokens);
  *graph.add_initializer() = onnx::raw_tensor("positions", TensorProto::FLOAT, {40, 4}, positions);
  *graph.add_initializer() = onnx::raw_tensor<int64_t>("zero", TensorProto::INT64, {}, {0});
  *graph.add_initializer() = onnx::raw_tensor<int64_t>("one", TensorProto::INT64, {}, {1});
  *graph.add_initializer() = onnx::raw_tensor<int64_t>("axis1", TensorProto::INT64, {1}, {1});
  *graph.add_initializer() = onnx::raw_tensor<int64_t>("axis2", TensorProto::INT64, {1}, {2});
  onnx::add_node(graph, "Gather", {"tokens", "input_ids"}, {"embedded"});
  auto& shape = onnx::add_node(graph, "Shape", {"input_ids"}, {"shape"});
  shape.set_name("shape");
  onnx::add_node(graph, "Gather", {"shape", "one"}, {"length"});
  onnx::add_node(graph, "Range", {"zero", "length", "one"}, {"range"});
  onnx::add_node(graph, "Gather", {"positions", "range"}, {"placed"}).set_name("position_table");
  onnx::add_int(onnx::add_node(graph, "Cast", {"attention_mask"}, {"keep"}), "to", TensorProto::FLOAT);
  onnx::add_node(graph, "Unsqueeze", {"keep", "axis2"}, {"keep3"});
  onnx::add_node(graph, "Mul", {"embedded", "keep3"}, {"kept"});
  onnx::add_node(graph, "ReduceSum", {"kept", "axis1"}, {"sum"});
  onnx::add_node(graph, "Add", {"embedded", "placed"}, {"local"});
  onnx::add_node(graph, "Add", {"local", "sum"}, {"last_hidden_state"});
  return model;
}

inline void save(const onnx::proto::ModelProto& model, const std::string& path) {
  put_file(path, model.SerializeAsString());
}

}  // namespace plica
