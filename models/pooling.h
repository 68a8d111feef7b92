#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "plica/tensor.h"

namespace plica {

// How the rows of a protein become one vector.
enum class Pooling { kMean, kMax, kSum, kCls };

std::optional<Pooling> parse_pooling(std::string_view name);  // "mean", "max", "sum", "cls"
std::string_view name_of(Pooling pooling);

// Rows of one sequence in an output of shape (B, L, C): only residues, never special tokens or padding.
struct ResidueRows {
  int64_t batch_row = 0;
  int64_t first = 0;
  int64_t count = 0;
};

// The vector of C numbers, computed in double and rounded to f32. kCls takes the first row of all, the others the residues'.
// `output` is of floats and may have strides; `vector` has C elements.
void pool(const TensorView& output, const ResidueRows& rows, Pooling pooling, std::span<float> vector);

// The residues' rows themselves: a view (count, C).
TensorView residues_of(const TensorView& output, const ResidueRows& rows);

}  // namespace plica
