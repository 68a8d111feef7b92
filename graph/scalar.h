#pragma once

#include <optional>
#include <string>

#include "ops/constant.h"

namespace plica {

// Element `i` of a dense tensor as a double (integers beyond 2^53 are rounded).
double element(const Constant& constant, int64_t i);
std::string element_text(const Constant& constant, int64_t i);  // exact: parses back to the same element
void set_element(Tensor& tensor, int64_t i, double value);      // rounded or wrapped to the dtype
bool is_dense_constant(const Constant& constant);

// The one value of a constant whose elements are all equal; large constants are not looked at. Of an f32 it is the
// shortest decimal that rounds to it, 1e-05 rather than 9.99999974e-06.
std::optional<double> uniform_value(const Constant& constant);

// Whether `constant` is, in its own dtype, `value` everywhere. Of a value with seven digits or more (1.41421356) the
// last places are the exporter's: a relative difference of 1e-6 is equal.
bool is_uniform(const Constant& constant, double value);

// A scalar constant of `dtype`.
Result<ConstantPtr> scalar_constant(double value, DType dtype);

}  // namespace plica
