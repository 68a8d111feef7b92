#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "ops/mat_mul.h"
#include "ops/op.h"

namespace plica::cuda {

// One operand of y = a @ b as a matrix of rows x columns in memory of which one axis is contiguous.
struct MatrixView {
  bool transposed = false;  // its rows are contiguous, not its columns
  int64_t leading = 0;      // elements from one row (or column) to the next
  int64_t batch_stride = 0;
};

// A batch of products as cuBLASLt takes it, repeated over `loops` (what batches of one stride cannot say).
struct Product {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  MatrixView a, b, y, c;  // c is the residual, where it is added by the product itself
  int num_loop_axes = 0;
  std::array<int64_t, 8> loop_size{};
  std::array<std::array<int64_t, 8>, 4> loop_stride{};  // of a, b, y, c
};

// What the product's own epilogue does; the rest is done by finish_product.
struct ProductEpilogue {
  bool bias = false, residual = false;
  ops::Activation activation = ops::Activation::kNone;
};

// The geometry of a case, or why there is none. Rows of batches that share b become rows of one matrix.
const char* make_product(const Case& c, bool with_residual, Product& product);

// A product ready to run: descriptions and the algorithm that cuBLASLt's heuristic prefers, cached by shape and epilogue.
class ReadyProduct {
 public:
  struct Options {
    DType dtype = DType::kF32;
    bool tf32 = false;
    double alpha = 1;
    ProductEpilogue epilogue;
    std::array<int64_t, 4> alignment_bytes{16, 16, 16, 16};  // of a, b, y, c
    int ordinal = 0;
  };
  struct Pointers {
    const void *a, *b, *bias, *residual;
    void* y;
    void* workspace;
  };

  static Result<std::shared_ptr<const ReadyProduct>> make(const Product& product, const Options& options);
  ~ReadyProduct();

  size_t workspace_bytes() const;
  void run(const Pointers& pointers, void* stream) const;

 private:
  struct Parts;
  explicit ReadyProduct(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace plica::cuda
