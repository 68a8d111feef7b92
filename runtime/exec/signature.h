#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "plica/tensor.h"

namespace plica {

// What one plan is for: the types of all inputs, and the values of those inputs that shapes depend on.
struct Signature {
  std::vector<TensorType> inputs;             // dense
  std::vector<std::optional<Tensor>> values;  // one an input; set where the input is bound as a constant

  std::string key() const;  // equal for equal signatures
};

// What specialising needs before it can go on: the values of these inputs (indices).
struct NeedsValues {
  std::vector<int> inputs;
  std::string why;  // "node 'Reshape_7' (Reshape): its shape depends on input 'sizes'"
};

// An input or output as the model declares it; -1 where a size is free.
struct Port {
  std::string name;
  DType dtype = DType::kF32;
  bool has_rank = true;
  Shape shape;
  std::vector<std::string> symbols;  // one an axis: the name of a free size, or empty
};

// A loaded model as the executor sees it, whatever file it came from. `specialise` is thread-safe.
struct Source {
  std::vector<Port> inputs, outputs;
  std::function<Result<std::variant<Graph, NeedsValues>>(const Signature&)> specialise;
};

// The source with these of its outputs alone, in this order; its graphs hold nothing that only the others need.
Source select_outputs(const Source& source, std::vector<size_t> indices);

}  // namespace plica
