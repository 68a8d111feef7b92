#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/cpu/matrix_ref.h"

namespace plica::cpu {

enum class Activation : uint8_t { kNone, kRelu, kGelu, kGeluTanh, kSilu, kSigmoid, kTanh };

// What happens to a product on its way to memory: activation(alpha * product + bias) * gate + residual, parts with null
// data left out.
struct Epilogue {
  float alpha = 1;
  Activation activation = Activation::kNone;
  bool gate_sigmoid = false;
  const float* bias = nullptr;         // (n)
  MatrixRef gate = {}, residual = {};  // (m, n); may be the memory of c
};

// c = epilogue(a @ b).
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  MatrixRef a = {};          // (m, k)
  const float* b = nullptr;  // (k, n) as pack_b left it
  float* c = nullptr;        // (m, n), columns adjacent
  int64_t c_stride = 0;      // between rows
  Epilogue epilogue = {};
};

// The packed form does not depend on m. It belongs to the vector width of this machine: never store it.
size_t packed_b_bytes(int64_t n, int64_t k);
void pack_b(MatrixRef b, int64_t n, int64_t k, float* packed, int num_threads);

// Each element of c sums its k products in order, so results do not depend on the number of threads.
size_t gemm_scratch_bytes(int64_t m, int64_t n, int64_t k, int num_threads);
void gemm(const Gemm& gemm, void* scratch, int num_threads);

}  // namespace plica::cpu
