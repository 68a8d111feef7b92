#pragma once

#include <span>

#include "loaders/onnx/lowering.h"

namespace plica::onnx {

// The rows of the operator table, by topic. A row with a higher `since` replaces the one below it.
std::span<const OpRow> attention_rows();
std::span<const OpRow> constant_rows();
std::span<const OpRow> einsum_rows();
std::span<const OpRow> gather_rows();
std::span<const OpRow> layout_rows();
std::span<const OpRow> mat_mul_rows();
std::span<const OpRow> norm_rows();
std::span<const OpRow> pointwise_rows();
std::span<const OpRow> reduce_rows();
std::span<const OpRow> slice_rows();
std::span<const OpRow> softmax_rows();

}  // namespace plica::onnx
