#include "loaders/onnx/ops/tables.h"

namespace plica::onnx {
namespace {

using ops::Fn;

Result<Id> where(Lowering& n, Result<Id> condition, Result<Id> yes, Result<Id> no) {
  return n.call(Fn::kWhere, {std::move(condition), std::move(yes), std::move(no)});
}

// a where x < 0, else x.
Result<Id> below_zero(Lowering& n, Id x, Result<Id> a) {
  return where(n, n.call(Fn::kLess, {x, n.scalar_like(0, x)}), std::move(a), x);
}

// scale * (exp(x) - 1)
Result<Id> exp_minus_one(Lowering& n, Result<Id> x, double scale) {
  if (!x) return x;
  return n.mul(n.scalar_like(scale, x), n.sub(n.call(Fn::kExp, {x}), n.scalar_like(1, x)));
}

Status celu(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const double alpha, n.real("alpha", 1));
  return n.give(below_zero(n, x, exp_minus_one(n, n.div(x, n.scalar_like(alpha, x)), alpha)));
}

Status elu(Lowering& n) {
  PLICA_TRY(const double alpha, n.real("alpha", 1));
  return n.give(below_zero(n, n.in(0), exp_minus_one(n, n.in(0), alpha)));
}

Status selu(Lowering& n) {
  PLICA_TRY(const double alpha, n.real("alpha", 1.67326319217681884765625));
  PLICA_TRY(const double gamma, n.real("gamma", 1.05070102214813232421875));
  const Id x = n.in(0);
  return n.give(n.mul(n.scalar_like(gamma, x), below_zero(n, x, exp_minus_one(n, x, alpha))));
}

Result<Id> clamp_linear(Lowering& n, Id x, double alpha, double beta) {
  const Result<Id> line = n.add(n.mul(n.scalar_like(alpha, x), x), n.scalar_like(beta, x));
  return n.call(Fn::kMax, {n.scalar_like(0, x), n.call(Fn::kMin, {n.scalar_like(1, x), line})});
}

Status hard_sigmoid(Lowering& n) {
  PLICA_TRY(const double alpha, n.real("alpha", 0.2));
  PLICA_TRY(const double beta, n.real("beta", 0.5));
  return n.give(clamp_linear(n, n.in(0), alpha, beta));
}

Status hard_swish(Lowering& n) { return n.give(n.mul(n.in(0), clamp_linear(n, n.in(0), 1.0 / 6, 0.5))); }

Status leaky_relu(Lowering& n) {
  PLICA_TRY(const double alpha, n.real("alpha", 0.01));
  return n.give(below_zero(n, n.in(0), n.mul(n.in(0), n.scalar_like(alpha, n.in(0)))));
}

Status mish(Lowering& n) { return n.give(n.mul(n.in(0), n.call(Fn::kTanh, {n.call(Fn::kSoftplus, {n.in(0)})}))); }

Status p_relu(Lowering& n) { return n.give(below_zero(n, n.in(0), n.mul(n.in(0), n.in(1)))); }

Status shrink(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const double bias, n.real("bias", 0));
  PLICA_TRY(const double lambd, n.real("lambd", 0.5));
  const Result<Id> above = n.call(Fn::kLess, {n.scalar_like(lambd, x), x});
  const Result<Id> below = n.call(Fn::kLess, {x, n.scalar_like(-lambd, x)});
  const Result<Id> low = where(n, below, n.add(x, n.scalar_like(bias, x)), n.scalar_like(0, x));
  return n.give(where(n, above, n.sub(x, n.scalar_like(bias, x)), low));
}

Status softsign(Lowering& n) {
  return n.give(n.div(n.in(0), n.add(n.scalar_like(1, n.in(0)), n.call(Fn::kAbs, {n.in(0)}))));
}

Status thresholded_relu(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const double alpha, n.real("alpha", 1));
  return n.give(where(n, n.call(Fn::kLess, {n.scalar_like(alpha, x), x}), x, n.scalar_like(0, x)));
}

constexpr OpRow kRows[] = {
    {"Celu", 12, 1, celu},
    {"Elu", 6, 1, elu},
    {"HardSigmoid", 6, 1, hard_sigmoid},
    {"HardSwish", 14, 1, hard_swish},
    {"LeakyRelu", 6, 1, leaky_relu},
    {"Mish", 18, 1, mish},
    {"PRelu", 7, 2, p_relu},
    {"Selu", 6, 1, selu},
    {"Shrink", 9, 1, shrink},
    {"Softsign", 1, 1, softsign},
    {"ThresholdedRelu", 10, 1, thresholded_relu},
};

}  // namespace

std::span<const OpRow> activation_rows() { return kRows; }

}  // namespace plica::onnx
