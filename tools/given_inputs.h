#pragma once

#include <string>
#include <vector>

#include "plica/model.h"
#include "tools/input_arrays.h"

namespace CLI {
class App;
}

namespace plica {

// The arguments --shape and --inputs of commands that run a model on anything.
struct InputArguments {
  std::vector<std::string> shapes;
  std::string inputs;
};

void add_input_options(CLI::App& app, InputArguments& arguments);

// The arrays of --inputs, else made ones of the shapes given, in the model's order.
Result<std::vector<Tensor>> given_inputs(const Model& model, const InputArguments& arguments);

}  // namespace plica
