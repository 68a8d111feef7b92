#include "ops/cpu/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/ops_cpu/memory.h"
#include "tests/ops_cpu/targets.h"

namespace plica::cpu {
namespace {

double combine(Fold fold, double a, double b) {
  switch (fold) {
    case Fold::kMax: return std::isnan(a) || a > b ? a : b;
    case Fold::kMin: return std::isnan(a) || a < b ? a : b;
    case Fold::kProd: return a * b;
    case Fold::kSum: break;
  }
  return a + b;
}

double start(Fold fold) {
  switch (fold) {
    case Fold::kMax: return -INFINITY;
    case Fold::kMin: return INFINITY;
    case Fold::kProd: return 1;
    case Fold::kSum: break;
  }
  return 0;
}

constexpr Fold kAll[] = {Fold::kSum, Fold::kMax, Fold::kMin, Fold::kProd};

TEST(Reduce, FoldsRowsOfEverySize) {
  on_every_target([] {
    for (const Fold fold : kAll)
      for (const int64_t n : {0, 1, 3, 8, 17, 64, 129, 1000}) {
        const auto x = random_values(n, 1);
        double wanted = start(fold);
        for (const float value : x) wanted = combine(fold, wanted, value);
        if (n == 0)
          EXPECT_EQ(fold_row(fold, x.data(), n), wanted);
        else
          EXPECT_NEAR(fold_row(fold, x.data(), n), wanted, 1e-5 * (1 + std::fabs(wanted))) << n;
      }
  });
}

TEST(Reduce, FoldsColumnsAndTouchesNoOthers) {
  on_every_target([] {
    for (const Fold fold : kAll)
      for (const int64_t rows : {0, 1, 5, 300})
        for (const int64_t columns : {1, 7, 16, 67, 130}) {
          const int64_t stride = columns + 2;
          const auto x = random_values(rows * stride + 1, 2);
          std::vector<float> y(static_cast<size_t>(columns + 1), 7.0f);
          fold_columns(fold, x.data(), stride, rows, y.data(), columns);
          for (int64_t c = 0; c < columns; ++c) {
            double wanted = start(fold);
            for (int64_t r = 0; r < rows; ++r) wanted = combine(fold, wanted, x[r * stride + c]);
            if (rows == 0)
              ASSERT_EQ(y[c], wanted);
            else
              ASSERT_NEAR(y[c], wanted, 1e-5 * (1 + std::fabs(wanted))) << rows << " x " << columns << " at " << c;
          }
          EXPECT_EQ(y[columns], 7.0f);
        }
  });
}

TEST(Reduce, NaNWins) {
  on_every_target([] {
    for (const int64_t at : {0, 5, 38}) {
      auto x = random_values(39, 3);
      x[at] = NAN;
      EXPECT_TRUE(std::isnan(fold_row(Fold::kMax, x.data(), 39))) << at;
      EXPECT_TRUE(std::isnan(fold_row(Fold::kMin, x.data(), 39))) << at;
      float y = 0;
      fold_columns(Fold::kMin, x.data(), 1, 39, &y, 1);
      EXPECT_TRUE(std::isnan(y)) << at;
    }
  });
}

}  // namespace
}  // namespace plica::cpu
