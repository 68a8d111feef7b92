#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace plica {

// A dense tensor of those values.
Tensor tensor_of(DType dtype, Shape shape, const std::vector<double>& values);
Tensor f32(Shape shape, const std::vector<double>& values);
Tensor i64(Shape shape, const std::vector<double>& values);

// What the reference kernel of `op` makes of `in` (an empty Tensor: absent), in row-major order. Fails the test on an error.
std::vector<double> evaluated(std::string_view op, Attrs attrs, const std::vector<Tensor>& in, size_t output = 0);

// The error of the same as text, or "" where there is none.
std::string refused(std::string_view op, Attrs attrs, const std::vector<Tensor>& in);

// The type of the first result for inputs of those types, as text; or the error's text.
std::string inferred(std::string_view op, Attrs attrs, const std::vector<TensorType>& in);

}  // namespace plica
