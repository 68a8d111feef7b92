#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "plica/tensor.h"

namespace plica::onnx {

// ONNX's numbers of element types: TensorProto.DataType, the attribute `to` of Cast, ...
std::optional<DType> dtype_of(int64_t element_type);  // nullopt for strings, complex numbers, float8, int4 ...
int64_t element_type_of(DType dtype);
std::string name_of_element_type(int64_t element_type);  // "float", "bfloat16", "element type 99"

}  // namespace plica::onnx
