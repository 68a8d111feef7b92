#pragma once

#include "loaders/onnx/lowering.h"

namespace plica::onnx {

// Whether the node compares random numbers.
bool compares_random(const Lowering& n);

// Gives what holds for all of the random numbers that the node compares: left < right, or left <= right with `or_equal`.
// kUnsupported where it holds for some of them only. `left` and `right` are operands.
Status give_comparison(Lowering& n, size_t left, size_t right, bool or_equal);

}  // namespace plica::onnx
