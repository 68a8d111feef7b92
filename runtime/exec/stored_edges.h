#pragma once

#include <optional>

#include "plica/device.h"
#include "runtime/exec/signature.h"

namespace plica {

// What a precision stores the residual stream as; none for kFile, which stores all as the file does.
std::optional<DType> edge_dtype(Precision precision);

// The source with `stored` as the dtype of every input and output that is a float of up to 32 bits: whoever holds tensors
// as a precision stores them gives and takes these, and nothing is converted on the way. Specialising is kUnsupported where
// shapes depend on the value of such an input.
Source with_stored_edges(const Source& source, DType stored);

}  // namespace plica
