#include "ops/mat_mul.h"

#include "loaders/onnx/ops/tables.h"

namespace plica::onnx {
namespace {

// Vectors become matrices of one row or column, whose axis goes again afterwards.
Status mat_mul(Lowering& n) {
  const Shape a = n.shape(n.in(0)), b = n.shape(n.in(1));
  if (a.empty() || b.empty()) return invalid_model("an operand is a scalar, wanted rank 1 or more");
  const Result<Id> left = a.size() == 1 ? n.reshape(n.in(0), {1, a[0]}) : n.in(0);
  const Result<Id> right = b.size() == 1 ? n.reshape(n.in(1), {b[0], 1}) : n.in(1);
  PLICA_TRY(const Id product, n.mat_mul(left, right));
  Shape shape = n.shape(product);
  if (b.size() == 1) shape.pop_back();
  if (a.size() == 1) shape.erase(shape.end() - (b.size() == 1 ? 1 : 2));
  return n.give(n.reshape(product, std::move(shape)));
}

// alpha * (a @ b) + beta * c, with a and b transposed as asked.
Status gemm(Lowering& n) {
  PLICA_TRY(const bool trans_a, n.flag("transA", false));
  PLICA_TRY(const bool trans_b, n.flag("transB", false));
  PLICA_TRY(const double alpha, n.real("alpha", 1));
  PLICA_TRY(const double beta, n.real("beta", 1));
  for (size_t i = 0; i < 2; ++i)
    if (n.rank(n.in(i)) != 2)
      return invalid_model("input " + std::to_string(i) + " is " + to_string(n.shape(n.in(i))) + ", wanted a matrix");
  const Result<Id> a = trans_a ? n.swap_last(n.in(0)) : n.in(0);
  const Result<Id> b = trans_b ? n.swap_last(n.in(1)) : n.in(1);
  Result<Id> y = n.emit_one(mat_mul_op, ops::MatMul{.alpha = alpha}, {a, b});
  if (!n.has(2) || beta == 0) return n.give(y);
  const Id c = n.in(2);
  return n.give(n.add(y, beta == 1 ? c : n.mul(c, n.scalar_like(beta, c))));
}

constexpr OpRow kRows[] = {
    {"Gemm", 7, 2, gemm},
    {"MatMul", 1, 2, mat_mul},
};

}  // namespace

std::span<const OpRow> mat_mul_rows() { return kRows; }

}  // namespace plica::onnx
