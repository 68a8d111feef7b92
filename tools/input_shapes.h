#pragma once

#include <string>
#include <vector>

#include "plica/model.h"
#include "plica/tensor.h"

namespace plica {

// Shapes of all inputs, in their order, from arguments such as "input_ids=2x128" (an input) or "batch=2" (a symbol of the
// file). A size with the same symbol as one that is given need not be given again. kInvalidInput names what is missing,
// unknown or not as the file fixes it.
Result<std::vector<Shape>> resolve_shapes(const std::vector<TensorInfo>& inputs,
                                          const std::vector<std::string>& arguments);

// "input_ids i64 batch x sequence"
std::string describe(const TensorInfo& info);

}  // namespace plica
