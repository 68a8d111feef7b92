#pragma once

#include <string>

#include "plica/tensor.h"

namespace plica::onnx {

// A file that holds one serialised TensorProto: what ONNX's test data sets are made of.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// kInvalidInput where the file cannot be read or is no tensor, kUnsupported for element types outside DType.
// The file does not say whether it holds a tensor, a sequence or an optional: the caller asks for tensors only.
Result<NamedTensor> read_tensor_file(const std::string& path);

// The file appears under its name only when it is complete. `view` may have strides.
Status write_tensor_file(const std::string& path, const std::string& name, const TensorView& view);

}  // namespace plica::onnx
