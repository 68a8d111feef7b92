#pragma once

#include "ops/cuda/layout.cuh"
#include "ops/mat_mul.h"

namespace plica::cuda::gated {

constexpr int kUnitRows = 64;  // rows of y that a warpgroup makes at a time

// A layer norm of a source, where gamma is there.
struct Norm {
  const void *gamma = nullptr, *beta = nullptr;  // (depth)
  float eps = 0;
};

// GatedMatMul over rows that lie one step apart.
struct GatedProduct {
  int64_t rows = 0;
  int columns = 0, depth = 0;  // of y; of a and b
  ops::Activation activation{};
  const void *a = nullptr, *b = nullptr;         // (rows, depth), or a (depth, rows)
  const void *value = nullptr, *gate = nullptr;  // (columns, depth)
  const void *value_bias = nullptr, *gate_bias = nullptr, *mask = nullptr, *residual = nullptr;
  void* y = nullptr;               // (rows, columns), or batches of (columns, batch_rows)
  int64_t a_step = 0, b_step = 0;  // from row to row; of an a with its channels first, from channel to channel
  int64_t value_step = 0, gate_step = 0, mask_step = 0, residual_step = 0, y_step = 0;
  int64_t y_batch = 0, y_channel = 0;  // of a transposed y, whose rows are adjacent
  int batch_rows = 1;
  Divider by_batch_rows;
  bool vectors = true;  // 16 bytes of a transposed y's rows lie in one batch, and are aligned
  Norm norm, gate_norm;
  bool tiles = false;  // set by the launch: y is stored as tiles that the device cuts out of it
  int chunks = 0,
      column_groups = 1;  // set by the launch: chunks of columns that a block holds, blocks that share a row
};

// What is compiled apart.
struct Form {
  int depth = 128;              // 64 or 128: that of the product, padded
  bool two_sources = false;     // the gate multiplies b
  bool channels_first = false;  // a is (depth, rows); only with two sources
  bool transposed = false;      // y is; only with one source
};

void launch_bf16(const GatedProduct& p, const Form& form, void* stream);
void launch_f16(const GatedProduct& p, const Form& form, void* stream);
void launch_tf32(const GatedProduct& p, const Form& form, void* stream);
void launch_tf32x3(const GatedProduct& p, const Form& form, void* stream);

}  // namespace plica::cuda::gated
