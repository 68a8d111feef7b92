#pragma once

#include <map>
#include <string>
#include <vector>

#include "plica/model.h"
#include "plica/tensor.h"

namespace plica {

using TensorMap = std::map<std::string, Tensor>;

// The inputs of a model from an .npz file (arrays by name), or from a folder with input_0.pb, input_1.pb ... (ONNX test
// data, in the order of the inputs). Arrays of f32 are rounded where the model takes 16 bits. kInvalidInput where one is
// missing or too many.
Result<TensorMap> read_inputs(const std::string& path, const std::vector<TensorInfo>& inputs);

// Numbers to run with where none are given: floats in [-1, 1), ids 4 to 19 for integers (residues of every alphabet), masks that hide the last quarter of
// each row; the same at every call.
Result<TensorMap> make_inputs(const std::vector<TensorInfo>& inputs, const std::vector<Shape>& shapes);

// The inputs in the model's order. kInvalidInput names the one that is missing.
Result<std::vector<Tensor>> in_order(const TensorMap& arrays, const std::vector<TensorInfo>& inputs);

// PREFIX_0.pb, PREFIX_1.pb ... of a folder, until one is missing.
Result<std::vector<Tensor>> read_numbered(const std::string& folder, const std::string& prefix);

}  // namespace plica
