#include "ops/cpu/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/ops_cpu/memory.h"
#include "tests/ops_cpu/targets.h"

namespace plica::cpu {
namespace {

double activate(double x, Activation activation) {
  switch (activation) {
    case Activation::kNone: return x;
    case Activation::kRelu: return std::max(x, 0.0);
    case Activation::kGelu: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kGeluTanh: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kSilu: return x / (1 + std::exp(-x));
    case Activation::kSigmoid: return 1 / (1 + std::exp(-x));
    case Activation::kTanh: return std::tanh(x);
  }
  return x;
}

// A product with everything that the epilogue knows, or nothing of it.
struct Problem {
  int64_t m, n, k;
  bool transposed_a = false, transposed_b = false;
  Epilogue epilogue = {};
  bool bias = false, gate = false, residual = false;
  int64_t gate_row_stride = -1, gate_col_stride = 1, residual_col_stride = 1;
};

std::vector<float> run(const Problem& p, int num_threads, double* worst) {
  const int64_t m = p.m, n = p.n, k = p.k, c_stride = n + 3;
  const auto a = random_values(m * k, 1), b = random_values(k * n, 2), bias = random_values(n, 3);
  const auto gate = random_values(m * (n + 5) * 2, 4), residual = random_values(m * (n + 5) * 2, 5);
  Gemm g{m, n, k, {a.data(), p.transposed_a ? 1 : k, p.transposed_a ? m : 1}, nullptr, nullptr, c_stride, p.epilogue};
  const MatrixRef b_ref{b.data(), p.transposed_b ? 1 : n, p.transposed_b ? k : 1};
  const int64_t gate_rows = p.gate_row_stride < 0 ? (n + 5) * p.gate_col_stride : p.gate_row_stride;
  if (p.bias) g.epilogue.bias = bias.data();
  if (p.gate) g.epilogue.gate = {gate.data(), gate_rows, p.gate_col_stride};
  if (p.residual) g.epilogue.residual = {residual.data(), (n + 5) * p.residual_col_stride, p.residual_col_stride};

  auto packed = aligned(packed_b_bytes(n, k));
  pack_b(b_ref, n, k, packed.get(), num_threads);
  g.b = packed.get();
  const size_t scratch_bytes = gemm_scratch_bytes(m, n, k, num_threads);
  auto scratch = aligned(scratch_bytes);
  auto* guard = reinterpret_cast<unsigned char*>(scratch.get()) + scratch_bytes;
  std::fill_n(guard, 64, 0xa5);
  std::vector<float> c(m * c_stride + 1, 7.0f);
  g.c = c.data();
  gemm(g, scratch.get(), num_threads);
  EXPECT_TRUE(std::all_of(guard, guard + 64, [](unsigned char x) { return x == 0xa5; })) << "scratch overrun";

  *worst = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t s = 0; s < k; ++s)
        sum += double{g.a.data[i * g.a.row_stride + s * g.a.col_stride]} *
               b_ref.data[s * b_ref.row_stride + j * b_ref.col_stride];
      double y = activate(sum * p.epilogue.alpha + (p.bias ? bias[j] : 0), p.epilogue.activation);
      const double w = p.gate ? gate[i * gate_rows + j * p.gate_col_stride] : 1;
      y *= p.gate && p.epilogue.gate_sigmoid ? 1 / (1 + std::exp(-w)) : w;
      if (p.residual) y += residual[i * g.epilogue.residual.row_stride + j * p.residual_col_stride];
      *worst = std::max(*worst, std::fabs(y - c[i * c_stride + j]) / (1 + std::fabs(y)));
    }
    for (int64_t j = n; j < c_stride; ++j) EXPECT_EQ(c[i * c_stride + j], 7.0f) << "written beyond row " << i;
  }
  return c;
}

void expect_right(const Problem& p, double tolerance) {
  double worst = 0;
  run(p, 1, &worst);
  EXPECT_LE(worst, tolerance) << p.m << "x" << p.n << "x" << p.k;
}

TEST(Gemm, TakesEverySize) {
  on_every_target([] {
    for (int64_t m : {0, 1, 2, 5, 13, 14, 15, 29, 31})
      for (int64_t n : {0, 1, 4, 15, 16, 17, 31, 32, 33, 65})
        for (int64_t k : {0, 1, 3, 24, 33}) expect_right({.m = m, .n = n, .k = k}, 1e-5);
    expect_right({.m = 257, .n = 97, .k = 400}, 1e-5);
    expect_right({.m = 17, .n = 600, .k = 900}, 3e-5);
    expect_right({.m = 300, .n = 530, .k = 64}, 1e-5);
    for (int64_t m : {1, 3, 300}) expect_right({.m = m, .n = 549, .k = 2100}, 1e-4);
  });
}

TEST(Gemm, TakesTransposedOperands) {
  on_every_target([] {
    for (int64_t m : {1, 15, 40})
      for (int64_t n : {3, 32, 70, 520})
        for (int64_t k : {1, 6, 29}) {
          expect_right({.m = m, .n = n, .k = k, .transposed_a = true}, 1e-5);
          expect_right({.m = m, .n = n, .k = k, .transposed_b = true}, 1e-5);
          expect_right({.m = m, .n = n, .k = k, .transposed_a = true, .transposed_b = true}, 1e-5);
        }
  });
}

TEST(Gemm, AppliesTheEpilogue) {
  on_every_target([] {
    for (int64_t k : {8, 500, 2300}) {
      const double tolerance = k > 1000 ? 1e-4 : 2e-5;
      for (int i = 0; i <= static_cast<int>(Activation::kTanh); ++i)
        expect_right({.m = 15, .n = 37, .k = k, .epilogue = {.activation = static_cast<Activation>(i)}, .bias = true},
                     tolerance);
      expect_right({.m = 15, .n = 64, .k = k, .bias = true, .residual = true}, tolerance);
      expect_right({.m = 15, .n = 64, .k = k, .residual = true, .residual_col_stride = 2}, tolerance);
      expect_right(
          {.m = 15, .n = 37, .k = k, .epilogue = {.alpha = 0.25f}, .bias = true, .gate = true, .residual = true},
          tolerance);
      expect_right({.m = 15, .n = 37, .k = k, .epilogue = {.gate_sigmoid = true}, .gate = true, .gate_col_stride = 2},
                   tolerance);
      expect_right({.m = 15, .n = 37, .k = k, .gate = true, .gate_row_stride = 1, .gate_col_stride = 0}, tolerance);
    }
  });
}

TEST(Gemm, DoesNotDependOnTheNumberOfThreads) {
  for (const Problem& p : {Problem{.m = 130, .n = 96, .k = 700, .bias = true}, Problem{.m = 5, .n = 700, .k = 33},
                           Problem{.m = 300, .n = 549, .k = 2100, .residual = true},
                           Problem{.m = 200, .n = 530, .k = 40, .epilogue = {.activation = Activation::kGelu}}}) {
    double worst = 0;
    const auto one = run(p, 1, &worst);
    for (int threads : {2, 3, 8}) {
      EXPECT_EQ(run(p, threads, &worst), one);
      EXPECT_LE(worst, p.k > 1000 ? 1e-4 : 1e-5);
    }
  }
}

void expect_in_place(int64_t m, int64_t n, int64_t k, Activation activation) {
  const auto a = random_values(m * k, 1), b = random_values(k * n, 2);
  auto c = random_values(m * n, 3), apart = c;
  const auto residual = c;
  auto packed = aligned(packed_b_bytes(n, k)), scratch = aligned(gemm_scratch_bytes(m, n, k, 1));
  pack_b({b.data(), n, 1}, n, k, packed.get(), 1);
  Gemm g{m, n, k, {a.data(), k, 1}, packed.get(), apart.data(), n, {}};
  g.epilogue.activation = activation;
  g.epilogue.residual = {residual.data(), n, 1};
  gemm(g, scratch.get(), 1);
  g.c = c.data();
  g.epilogue.residual.data = c.data();
  gemm(g, scratch.get(), 1);
  EXPECT_EQ(c, apart);
}

TEST(Gemm, KeepsAResidualInPlace) {
  for (const Activation activation : {Activation::kNone, Activation::kRelu}) {
    expect_in_place(20, 64, 900, activation);
    expect_in_place(1, 530, 2100, activation);
    expect_in_place(270, 530, 2100, activation);
  }
}

}  // namespace
}  // namespace plica::cpu
