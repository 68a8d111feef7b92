#include "tools/given_inputs.h"

#include <CLI/CLI.hpp>

#include "runtime/core/result.h"
#include "tools/input_shapes.h"

namespace plica {

void add_input_options(CLI::App& app, InputArguments& arguments) {
  app.add_option("--shape", arguments.shapes,
                 "Shape of an input, INPUT=2x128, or a free size by its name, SYMBOL=128 (repeatable)");
  app.add_option("--inputs", arguments.inputs, "An .npz file with the inputs, or a folder with input_N.pb");
}

Result<std::vector<Tensor>> given_inputs(const Model& model, const InputArguments& arguments) {
  if (!arguments.inputs.empty()) {
    PLICA_TRY(const TensorMap arrays, read_inputs(arguments.inputs, model.inputs()));
    return in_order(arrays, model.inputs());
  }
  PLICA_TRY(const std::vector<Shape> shapes, resolve_shapes(model.inputs(), arguments.shapes));
  PLICA_TRY(const TensorMap arrays, make_inputs(model.inputs(), shapes));
  return in_order(arrays, model.inputs());
}

}  // namespace plica
