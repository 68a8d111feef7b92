#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/op.h"
#include "ops/outer_product_mean.h"

namespace plica::cuda {

// Sizes and steps (in elements) of one OuterProductMean, as its kernels take them by value.
struct OuterProduct {
  int64_t batch = 0, depth = 0, rows = 0, columns = 0;  // B, S, N, M
  int64_t left = 0, right = 0, channels = 0;            // C1, C2, C
  int64_t a[4] = {}, b[4] = {};                         // (B, S, N, C1), (B, S, M, C2)
  int64_t weight[2] = {}, bias = 0;                     // (C1 C2, C), (C)
  int64_t norm[3] = {}, residual[4] = {}, y[4] = {};    // (B, N, M), (B, N, M, C), (B, N, M, C)
  double scale = 1;

  int64_t num_pairs() const { return batch * rows * columns; }
};

OuterProduct outer_product_of(const ops::OuterProductMean& op, const KernelArgs& args);

// Why rows of a, b, weight and y cannot be moved 16 bytes an access, or null.
const char* outer_product_vectors_decline(const Case& c);

// Whether multiply-adds in fp32 are done before the kernels for matrix units have filled their ring: by times of an H200.
bool is_small_outer_product(const Case& c);

// One pair (i, j) a block: takes every case.
void run_outer_product_pairs(const ops::OuterProductMean& op, const KernelArgs& args);

// Small cases of 16 bits: products of pairs by multiply-adds in fp32, their projection by matrix units; C1 is at most 32.
const char* outer_product_mma_declines(const ops::OuterProductMean& op, const Case& c);
Result<KernelState> outer_product_mma_prepare(const ops::OuterProductMean& op, const Case& c, ConstantStore& store);
void run_outer_product_mma(const ops::OuterProductMean& op, const KernelArgs& args);

// By multiply-adds in fp32: C2 is at most 32. Factors of 16 bits, of small cases, are widened in scratch.
const char* outer_product_fma_declines(const ops::OuterProductMean& op, const Case& c);
size_t outer_product_fma_scratch(const ops::OuterProductMean& op, const Case& c);
void run_outer_product_fma(const ops::OuterProductMean& op, const KernelArgs& args);

// tf32, tf32x3, bf16 and f16 by Hopper's matrix units: C2 is at most 32. The operands' tiles are laid out in scratch.
const char* outer_product_wgmma_declines(const ops::OuterProductMean& op, const Case& c);
size_t outer_product_wgmma_scratch(const ops::OuterProductMean& op, const Case& c);
Result<KernelState> outer_product_wgmma_prepare(const ops::OuterProductMean& op, const Case& c, ConstantStore& store);
void run_outer_product_wgmma(const ops::OuterProductMean& op, const KernelArgs& args);

}  // namespace plica::cuda
