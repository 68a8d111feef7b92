#pragma once

#include <cstdint>

#include "ops/pointwise.h"
#include "plica/tensor.h"

namespace plica {

// One element while it is computed with: floats as f, integers as the 64 bits of i, bool as 0 or 1 in i.
union Scalar {
  double f;
  int64_t i = 0;
};

// n elements, `step` apart, from element `at` on. dtype: that of the scalars and of y.
void load_scalars(const TensorView& x, int64_t at, int64_t step, Scalar* to, int64_t n);
void store_scalars(const TensorView& y, int64_t at, int64_t step, DType dtype, const Scalar* from, int64_t n);

Scalar load_scalar(const TensorView& x, int64_t at);
void store_scalar(const TensorView& y, int64_t at, DType dtype, Scalar value);  // dtype: that of value and y
Scalar make_scalar(DType dtype, double value);
Scalar cast_scalar(Scalar value, DType from, DType to);

// The dtypes of one application of a function.
struct FnTypes {
  DType in;      // of the first operand (of Where: of the second)
  DType second;  // of the exponent of Pow; else as `in`
  DType out;
};

// fn(a, b, c), exact but for one rounding to `types.out`.
Scalar apply(ops::Fn fn, const FnTypes& types, Scalar a, Scalar b, Scalar c);

// y[i] = fn(a[i], b[i], c[i]) for i < n; y may be an operand.
void apply(ops::Fn fn, const FnTypes& types, const Scalar* a, const Scalar* b, const Scalar* c, Scalar* y, int64_t n);

}  // namespace plica
