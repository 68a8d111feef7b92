#include "ops/cpu/norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops_cpu/memory.h"
#include "tests/ops_cpu/targets.h"

namespace plica::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
enum class Which { kLayerNorm, kRmsNorm, kSoftmax, kLogSoftmax };

void reference(Which which, const NormRows& r, const float* x, std::vector<double>& y) {
  const int64_t n = r.channels;
  double mean = 0, square = 0, top = -kInf, sum = 0;
  for (int64_t c = 0; c < n; ++c) mean += x[c] / static_cast<double>(n), top = std::max(top, double{x[c]});
  if (which == Which::kRmsNorm) mean = 0;
  for (int64_t c = 0; c < n; ++c)
    square += (x[c] - mean) * (x[c] - mean) / static_cast<double>(n), sum += std::exp(x[c] - top);
  for (int64_t c = 0; c < n; ++c) {
    if (which == Which::kSoftmax)
      y[c] = std::exp(x[c] - top) / sum;
    else if (which == Which::kLogSoftmax)
      y[c] = x[c] - top - std::log(sum);
    else
      y[c] = (x[c] - mean) / std::sqrt(square + double{r.eps}) * (r.gamma ? r.gamma[c] : 1) + (r.beta ? r.beta[c] : 0);
  }
}

void expect_right(Which which, int64_t rows, int64_t n, bool affine, float offset = 0) {
  auto x = random_values(rows * (n + 3), 1);
  for (float& v : x) v += offset;
  const auto gamma = random_values(n, 2), beta = random_values(n, 3);
  std::vector<float> y(rows * (n + 2), 7.0f);
  NormRows r{x.data(), y.data(), n, n + 3, n + 2, affine ? gamma.data() : nullptr, nullptr, 1e-5f};
  if (affine && which == Which::kLayerNorm) r.beta = beta.data();
  if (which == Which::kLayerNorm)
    layer_norm_rows(r, 0, rows);
  else if (which == Which::kRmsNorm)
    rms_norm_rows(r, 0, rows);
  else
    softmax_rows(r, which == Which::kLogSoftmax, 0, rows);
  std::vector<double> wanted(n);
  for (int64_t i = 0; i < rows; ++i) {
    if (which == Which::kSoftmax || which == Which::kLogSoftmax) r.gamma = r.beta = nullptr;
    reference(which, r, x.data() + i * (n + 3), wanted);
    const double tolerance = offset ? 2e-3 : 1e-5;
    for (int64_t c = 0; c < n; ++c)
      ASSERT_NEAR(y[i * (n + 2) + c], wanted[c], tolerance * (1 + std::fabs(wanted[c])))
          << "row " << i << " of " << n << " at " << c;
    EXPECT_EQ(y[i * (n + 2) + n], 7.0f) << "written beyond row " << i;
  }
}

TEST(Norm, TakesEverySize) {
  on_every_target([] {
    for (Which which : {Which::kLayerNorm, Which::kRmsNorm, Which::kSoftmax, Which::kLogSoftmax})
      for (int64_t n : {0, 1, 2, 15, 16, 17, 63, 64, 65, 129, 320, 1000})
        for (int64_t rows : {0, 1, 3}) {
          expect_right(which, rows, n, false);
          expect_right(which, rows, n, true);
        }
  });
}

TEST(Norm, KeepsTheVarianceBesideALargeMean) {
  on_every_target([] { expect_right(Which::kLayerNorm, 3, 320, true, 1000); });
}

TEST(Norm, SoftmaxKnowsInfinities) {
  on_every_target([] {
    std::vector<float> x(2 * 40, -kInf), y(2 * 40);
    x[3] = 1, x[39] = 1;
    NormRows r{x.data(), y.data(), 40, 40, 40};
    softmax_rows(r, false, 0, 2);
    EXPECT_EQ(y[3], 0.5f);
    EXPECT_EQ(y[39], 0.5f);
    EXPECT_EQ(y[0], 0);
    for (int i = 40; i < 80; ++i) EXPECT_TRUE(std::isnan(y[i]));
  });
}

TEST(Norm, WorksInPlace) {
  auto x = random_values(5 * 100, 1);
  std::vector<float> y(x.size());
  NormRows apart{x.data(), y.data(), 100, 100, 100}, in_place = apart;
  softmax_rows(apart, false, 0, 5);
  in_place.y = x.data();
  softmax_rows(in_place, false, 0, 5);
  EXPECT_EQ(x, y);
}

}  // namespace
}  // namespace plica::cpu
