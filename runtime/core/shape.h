#pragma once

#include <optional>

#include "plica/tensor.h"
#include "runtime/core/result.h"

namespace plica {

// Shape letters used in all comments:
//   B batch, S sequences of an MSA, N residues, L tokens, H heads, D head width, C channels; M, N, K of a matrix
//   product.

Strides dense_strides(const Shape& shape);                            // row-major
const Strides& strides_of(const TensorType& type, Strides& storage);  // type.strides, or dense ones put into storage
bool is_dense(const TensorType& type);     // row-major without gaps; sizes of 1 may have any stride
int64_t num_rows(const Shape& shape);      // product of all but the last size; 1 for a scalar
size_t num_bytes(const TensorType& type);  // of the elements, dense

// NumPy's broadcast of both; kInvalidModel where they do not fit, naming both shapes.
Result<Shape> broadcast(const Shape& a, const Shape& b);

// Strides that read `type` as if it had the larger `shape` (0 where broadcast). `shape` is a valid broadcast target.
Strides broadcast_strides(const TensorType& type, const Shape& shape);

// An axis in [-rank, rank) made non-negative; kInvalidModel otherwise.
Result<int64_t> normalise_axis(int64_t axis, int64_t rank);

// Strides of `type` seen as `shape` (same number of elements) without moving data; nullopt where that is impossible.
std::optional<Strides> reshape_strides(const TensorType& type, const Shape& shape);

}  // namespace plica
