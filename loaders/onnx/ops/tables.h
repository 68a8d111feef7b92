#pragma once

#include <span>

#include "loaders/onnx/lowering.h"

namespace plica::onnx {

// The rows of the operator table, by topic. A row with a higher `since` replaces the one below it.
std::span<const OpRow> activation_rows();
std::span<const OpRow> attention_rows();
std::span<const OpRow> constant_rows();
std::span<const OpRow> control_rows();
std::span<const OpRow> conv_rows();
std::span<const OpRow> einsum_rows();
std::span<const OpRow> gather_rows();
std::span<const OpRow> grid_sample_rows();
std::span<const OpRow> image_rows();
std::span<const OpRow> layout_rows();
std::span<const OpRow> loss_rows();
std::span<const OpRow> mat_mul_rows();
std::span<const OpRow> norm_rows();
std::span<const OpRow> normalization_rows();
std::span<const OpRow> pointwise_rows();
std::span<const OpRow> pool_rows();
std::span<const OpRow> quantize_rows();
std::span<const OpRow> random_rows();
std::span<const OpRow> recurrent_rows();
std::span<const OpRow> reduce_rows();
std::span<const OpRow> resize_rows();
std::span<const OpRow> scatter_rows();
std::span<const OpRow> select_rows();
std::span<const OpRow> sequence_rows();
std::span<const OpRow> signal_rows();
std::span<const OpRow> slice_rows();
std::span<const OpRow> softmax_rows();

}  // namespace plica::onnx
