#include "ops/cpu/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops_cpu/memory.h"
#include "tests/ops_cpu/targets.h"

namespace plica::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Values of one head, with room between the rows as the strides of merged heads leave it.
struct Problem {
  int64_t L, M, D, E;
  std::vector<float> q = random_values(L * (D + 3), 1), k = random_values(M * (D + 5), 2),
                     v = random_values(M * (E + 1), 3);
  std::vector<float> bias = random_values(L * M * 2, 4), mask = random_values(L * M, 5),
                     gate = random_values(L * E * 2, 6);
  std::vector<uint8_t> keep = std::vector<uint8_t>(L * M, 1);
  ScoreTerms terms = {};
  AttentionHead head = {};

  Problem(int64_t l, int64_t m, int64_t d, int64_t e) : L(l), M(m), D(d), E(e) {
    head = {.num_queries = L,
            .num_keys = M,
            .width = D,
            .value_width = E,
            .q = q.data(),
            .k = k.data(),
            .v = v.data(),
            .q_stride = D + 3,
            .k_stride = D + 5,
            .v_stride = E + 1,
            .y_stride = E + 2,
            .scale = 0.7f};
  }
  Problem(const Problem&) = delete;

  double score(int64_t i, int64_t j) const {
    double s = 0;
    for (int64_t c = 0; c < D; ++c) s += double{q[i * (D + 3) + c]} * k[j * (D + 5) + c];
    s *= double{head.scale};
    if (terms.bias.data) s = static_cast<float>(s) + *terms.bias.at(i, j);  // in f32: beside -1e9 a score is nothing
    if (terms.mask.data) s = static_cast<float>(s) + *terms.mask.at(i, j);
    if (terms.keep && !terms.keep[i * terms.keep_row_stride + j * terms.keep_col_stride]) s = terms.fill;
    return terms.causal && j > i ? -kInf : s;
  }
};

std::vector<double> reference(const Problem& p) {
  std::vector<double> y(p.L * p.E), w(p.M);
  for (int64_t i = 0; i < p.L; ++i) {
    double top = -kInf, sum = 0;
    for (int64_t j = 0; j < p.M; ++j) w[j] = p.score(i, j), top = std::max(top, w[j]);
    for (int64_t j = 0; j < p.M; ++j) sum += w[j] = std::exp(w[j] - (top == -kInf ? 0 : top));
    if ((p.head.zeroes_masked && sum == 0) || (p.head.zeroes_nan && std::isnan(sum))) w.assign(w.size(), 0), sum = 1;
    for (int64_t e = 0; e < p.E; ++e) {
      double& out = y[i * p.E + e];
      for (int64_t j = 0; j < p.M; ++j) out += w[j] / sum * p.v[j * (p.E + 1) + e];
      if (p.head.gate.data) out /= 1 + std::exp(-*p.head.gate.at(i, e));
    }
  }
  return y;
}

std::vector<float> run(Problem& p) {
  std::vector<float> y(p.L * (p.E + 2), 7.0f);
  p.head.y = y.data();
  auto scratch = aligned(attention_scratch_bytes(p.D, p.E)), memory = aligned(block_terms_bytes(p.L, p.M));
  const int64_t block = attention_block(p.L);
  for (int64_t first = 0; first < p.L; first += block)
    attend(p.head, first, make_block_terms(p.terms, p.head, first, memory.get()), scratch.get());
  std::vector<float> dense;
  for (int64_t i = 0; i < p.L; ++i) {
    dense.insert(dense.end(), &y[i * (p.E + 2)], &y[i * (p.E + 2)] + p.E);
    EXPECT_EQ(y[i * (p.E + 2) + p.E], 7.0f) << "written beyond row " << i;
  }
  return dense;
}

void expect_right(Problem& p, double tolerance = 1e-5) {
  const auto wanted = reference(p);
  const auto found = run(p);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::isnan(wanted[i]))
      ASSERT_TRUE(std::isnan(found[i])) << "row " << i / p.E;
    else if (std::isinf(wanted[i]))
      ASSERT_EQ(found[i], wanted[i]) << "row " << i / p.E;
    else
      ASSERT_NEAR(found[i], wanted[i], tolerance) << "row " << i / p.E << " column " << i % p.E;
  }
}

TEST(Attention, TakesEverySize) {
  on_every_target([] {
    for (int64_t l : {0, 1, 2, 15, 17, 33, 49, 100})
      for (int64_t m : {1, 5, 64, 65, 131})
        for (int64_t d : {1, 3, 16, 24}) {
          Problem p(l, m, d, d + 1);
          expect_right(p);
        }
    Problem wide(20, 70, 256, 200);
    expect_right(wide);
  });
}

TEST(Attention, AddsBiasesOfAnyStrides) {
  on_every_target([] {
    for (int64_t l : {1, 30, 50}) {
      Problem p(l, 70, 8, 8);
      for (MatrixRef bias :
           {MatrixRef{p.bias.data(), 70, 1}, MatrixRef{p.bias.data(), 1, l}, MatrixRef{p.bias.data(), 140, 2},
            MatrixRef{p.bias.data(), 0, 1}, MatrixRef{p.bias.data(), 1, 0}, MatrixRef{p.bias.data(), 0, 0}}) {
        p.terms = {.bias = bias};
        expect_right(p);
        p.terms.mask = {p.mask.data(), 70, 1};
        expect_right(p);
        p.terms.mask = {p.mask.data(), 0, 1};
        expect_right(p);
      }
    }
  });
}

TEST(Attention, ReplacesMaskedScores) {
  on_every_target([] {
    for (float fill : {-kInf, -1e9f, -3.4e38f, -1e4f, 0.5f}) {
      Problem p(50, 70, 8, 8);
      for (size_t i = 0; i < p.keep.size(); ++i) p.keep[i] = i % 3 != 0;
      std::fill_n(p.keep.begin() + 4 * 70, 2 * 70, uint8_t{0});  // rows 4 and 5 see nothing
      for (int64_t row_stride : {70, 0}) {
        p.terms = {.keep = p.keep.data(), .keep_row_stride = row_stride, .keep_col_stride = 1, .fill = fill};
        expect_right(p);
        p.terms.bias = {p.bias.data(), 70, 1};
        expect_right(p);
      }
    }
  });
}

TEST(Attention, GivesWhatAFullyMaskedProblemGives) {
  on_every_target([] {
    for (float fill : {-kInf, -1e9f, -3.4e38f}) {
      Problem p(3, 70, 8, 8);
      std::fill(p.keep.begin(), p.keep.end(), uint8_t{0});
      p.terms = {.keep = p.keep.data(), .keep_col_stride = 1, .fill = fill};
      expect_right(p);
      EXPECT_EQ(std::isnan(run(p)[0]), fill == -kInf);
      p.head.zeroes_masked = true;
      expect_right(p);
      std::fill(p.mask.begin(), p.mask.end(), fill);
      p.head.zeroes_masked = false;
      p.terms = {.mask = {p.mask.data(), 0, 1}};
      expect_right(p, 1e-4);
      p.terms = {.mask = {p.mask.data(), 70, 1}};
      expect_right(p, 1e-4);
    }
  });
}

TEST(Attention, LeavesOutPaddingAtTheEnds) {
  on_every_target([] {
    Problem p(33, 200, 8, 8);
    for (int64_t j = 0; j < 200; ++j) p.keep[j] = j >= 20 && j < 90;
    p.terms = {.keep = p.keep.data(), .keep_col_stride = 1, .fill = -kInf};
    auto memory = aligned(block_terms_bytes(33, 200));
    const BlockTerms block = make_block_terms(p.terms, p.head, 0, memory.get());
    EXPECT_EQ(block.first_key, 20);
    EXPECT_EQ(block.last_key, 90);
    expect_right(p);
  });
}

TEST(Attention, HidesLaterKeysWhereCausal) {
  on_every_target([] {
    for (int64_t m : {40, 100, 130}) {
      Problem p(100, m, 8, 8);
      p.terms = {.causal = true};
      expect_right(p);
      p.terms.bias = {p.bias.data(), m, 1};
      expect_right(p);
    }
  });
}

TEST(Attention, MultipliesByTheGate) {
  on_every_target([] {
    Problem p(50, 20, 8, 19);
    p.head.gate = {p.gate.data(), 19, 1};
    expect_right(p);
    p.head.gate = {p.gate.data(), 38, 2};
    expect_right(p);
  });
}

TEST(Attention, KeepsNaNInItsRow) {
  on_every_target([] {
    Problem p(50, 20, 8, 8);
    const auto clean = run(p);
    p.q[7 * 11] = kNaN;
    const auto found = run(p);
    for (size_t i = 0; i < clean.size(); ++i) {
      if (i / 8 == 7)
        EXPECT_TRUE(std::isnan(found[i]));
      else
        EXPECT_EQ(found[i], clean[i]);
    }
  });
}

// Weights of NaN become zeros, whose products with what is not finite are NaN.
TEST(Attention, ZeroesWeightsOfNaN) {
  on_every_target([] {
    for (int64_t l : {5, 30, 50}) {
      Problem p(l, 70, 8, 8);
      p.q[1 * 11] = kNaN;
      for (int64_t j = 0; j < 70; ++j) p.bias[2 * 70 + j] = -kInf, p.bias[3 * 70 + j] = kNaN;
      p.bias[4 * 70 + 69] = kInf;
      p.terms = {.bias = {p.bias.data(), 70, 1}};
      for (bool masked : {false, true})
        for (bool nan : {false, true}) {
          p.head.zeroes_masked = masked;
          p.head.zeroes_nan = nan;
          p.v[30 * 9 + 6] = 0.5f;
          expect_right(p);
          p.v[30 * 9 + 6] = kInf;
          expect_right(p);
        }
      EXPECT_EQ(run(p)[1 * 8], 0);
      EXPECT_TRUE(std::isnan(run(p)[1 * 8 + 6]));
      EXPECT_EQ(run(p)[0 * 8 + 6], kInf);
    }
  });
}

}  // namespace
}  // namespace plica::cpu
