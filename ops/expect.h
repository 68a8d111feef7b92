#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plica/tensor.h"
#include "runtime/core/result.h"

namespace plica {

// Checks that shape rules share. `where` names the operator and the operand ("LayerNorm: gamma"); the error adds what
// was found and what is wanted.
Status expect_dtype(std::string_view where, const TensorType& found, DType wanted);
Status expect_float(std::string_view where, const TensorType& found);
Status expect_number(std::string_view where, const TensorType& found);  // anything but bool
Status expect_index(std::string_view where, const TensorType& found);   // i32 | i64
Status expect_rank(std::string_view where, const TensorType& found, size_t at_least);
Status expect_shape(std::string_view where, const TensorType& found, const Shape& wanted);
Status expect_broadcast(std::string_view where, const TensorType& found, const Shape& target);
Status expect_axis(std::string_view where, int64_t axis, size_t rank);  // in [0, rank)

// An optional operand (null where absent) of `dtype` that broadcasts to `target`.
Status expect_operand(std::string_view where, const TensorType* found, DType dtype, const Shape& target);

}  // namespace plica
