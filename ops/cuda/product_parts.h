#pragma once

#include "ops/mat_mul.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica::cuda {

// What stands behind a product: y = activation(y + bias) * gate + residual, each part where its flag is set.
struct FinishProduct {
  bool bias = false, gate = false, gate_sigmoid = false, residual = false;
  ops::Activation activation = ops::Activation::kNone;

  bool any() const { return bias || gate || residual || activation != ops::Activation::kNone; }
};

// Queues it over args of MatMul, in place on y (f32, f16 or bf16).
void finish_product(const FinishProduct& finish, const KernelArgs& args);

// Why y and the operands of the epilogue cannot be walked together, or null.
const char* finish_product_declines(const Case& c);

// Queues: each element of x (f32, any strides) as the sum of two tf32 numbers, high and low, in three parts of `to`
// that lie part_step apart: low, high, high, or high, low, high. Products of the two orders, part by part, add up to
// a product of fp32 accuracy (low times low is left out). Beside a low part, 0 stands for a high one that is not finite.
struct SplitTf32 {
  bool low_first = false;
  AxisStrides to_strides{};
  int64_t part_step = 0;
};
void split_tf32(const SplitTf32& split, const TensorView& x, float* to, void* stream);

}  // namespace plica::cuda
